// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lookup/stored_rows.hpp"
#include "kernels/tensor_train/prefix_tree.hpp"
#include "kernels/tensor_train/small_gemm.hpp"

namespace shardmark::kernels {

/// Holds vectors of the nodes of one level in the blocks at hand, one behind the other.
struct NodeVectors {
  float* first = nullptr;
  std::int64_t first_node = 0, stride = 0;

  KOKKOS_FORCEINLINE_FUNCTION float* of(std::int64_t node) const { return first + (node - first_node) * stride; }
};
using LevelVectors = std::array<NodeVectors, TensorTrainShape::most_cores>;

/// Takes arrays from the front of a team's scratch floats, each array at a multiple of a cache line.
struct ScratchFloats {
  float* next = nullptr;

  static constexpr std::int64_t padded(std::int64_t count) { return (count + 15) / 16 * 16; }
  KOKKOS_FORCEINLINE_FUNCTION float* take(std::int64_t count) {
    float* taken = next;
    next += padded(count);
    return taken;
  }
};

/// Returns a policy with a team per run, each with `floats` of scratch: in the scratch memory of the processor where
/// they fit. On a host a team is one thread, and teams are handed out as threads become free.
template <class Exec>
auto team_per_run(const Exec& exec, std::int64_t runs, std::int64_t floats) {
  constexpr bool alone = Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;
  using Policy = Kokkos::TeamPolicy<Exec, AsArguments, Kokkos::Schedule<Kokkos::Dynamic>>;
  Policy policy(exec, static_cast<int>(runs), alone ? 1 : 8, alone ? 1 : 32);
  const auto bytes = static_cast<std::size_t>(floats) * sizeof(float) + 64;
  const int level = bytes <= static_cast<std::size_t>(policy.scratch_size_max(0)) ? 0 : 1;
  policy.set_scratch_size(level, Kokkos::PerTeam(bytes)).set_chunk_size(1);
  return std::pair(policy, level);
}
template <class Team>
KOKKOS_FORCEINLINE_FUNCTION ScratchFloats scratch_floats(const Team& team, int level, std::int64_t floats) {
  return {static_cast<float*>(
      team.team_scratch(level).get_shmem_aligned(static_cast<std::size_t>(floats) * sizeof(float), 64))};
}

template <class Team, class From>
KOKKOS_FORCEINLINE_FUNCTION void copy_by_thread(const Team& team, const From* from, float* to, std::int64_t count) {
  Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, count),
                       [&](const std::int64_t i) { to[i] = to_float(from[i]); });
}

/// Prefetches a vector that is to be written soon.
KOKKOS_FORCEINLINE_FUNCTION void prefetch_to_write(float* vector, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += cache_line / std::int64_t{sizeof(float)}) prefetch_to_write(vector + i);
}

/// Does the work of one team on the nodes of one slice.
template <class Exec, class Team>
struct NodeTile {
  const Team& team;
  const PrefixNodes<Exec>& tree;
  const SliceRun& run;
  const TensorTrainCores& cores;
  int t;  ///< core of the slice
  CoreStep step;

  KOKKOS_FORCEINLINE_FUNCTION NodeTile(const Team& of, const PrefixNodes<Exec>& nodes, const TensorTrains<Exec>& tts,
                                       const SliceRun& at, int level)
      : team(of),
        tree(nodes),
        run(at),
        cores(tts.tables.shards(at.table)),
        t(cores.shape.cores - 1 - level),
        step(cores.step(t)) {}

  /// Calls body(first place, nodes, whether it is the run's first) for tile after tile.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_tile(const Body& body) const {
    for (std::int64_t begin = run.begin; begin < run.end; begin += step.tile()) {
      const std::int64_t end = Kokkos::min(begin + step.tile(), run.end);
      for (std::int64_t next = end; next < Kokkos::min(end + step.tile(), run.end); ++next)
        prefetch_near(&node(next), sizeof(PrefixNode));
      body(begin, end - begin, begin == run.begin);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t number(std::int64_t place) const { return tree.groups.position(place); }
  KOKKOS_FORCEINLINE_FUNCTION const PrefixNode& node(std::int64_t place) const { return tree.at(number(place)); }

  /// Returns slice `slice` of core `core` in fp32: as it is stored if that is fp32, else converted into `space`.
  KOKKOS_FORCEINLINE_FUNCTION const float* slice_of(int core, std::int64_t slice, float* space) const {
    const std::int64_t count = cores.shape.slice_elements(core);
    if (cores.value_type == ValueType::fp32) return static_cast<const float*>(cores.cores[core]) + slice * count;
    with_trained_value(cores.value_type, [&](auto value) {
      const auto* from = static_cast<const decltype(value)*>(cores.cores[core]) + slice * count;
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count),
                           [&](const std::int64_t i) { space[i] = to_float(from[i]); });
    });
    team.team_barrier();
    return space;
  }

  /// Copies to left [nodes, before, r_in] the products of the parents of the `count` nodes at `begin`. products: those
  /// of the level above.
  KOKKOS_FORCEINLINE_FUNCTION void pack_left(std::int64_t begin, std::int64_t count, const NodeVectors& products,
                                             float* left) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](const std::int64_t i) {
      float* to = left + i * step.left();
      const std::int64_t parent = node(begin + i).parent;
      if (t == 0)
        Kokkos::single(Kokkos::PerThread(team), [&] { to[0] = 1.0F; });
      else if (t > 1)
        copy_by_thread(team, products.of(parent), to, step.left());
      else
        with_trained_value(cores.value_type, [&](auto value) {
          const auto* core = static_cast<const decltype(value)*>(cores.cores[0]);
          copy_by_thread(team, core + tree.at(parent).slice * step.left(), to, step.left());
        });
    });
    team.team_barrier();
  }

  /// Computes product [nodes, before, q r_out] = left slice.
  KOKKOS_FORCEINLINE_FUNCTION void multiply(std::int64_t count, const float* left, const float* slice,
                                            float* product) const {
    small_gemm(team, {count * step.before, step.columns(), step.r_in}, GemmLeft<float>{left, step.r_in, 1},
               GemmRows<const float>{slice, step.columns()}, GemmRows<float>{product, step.columns()}, GemmStart::zero);
    team.team_barrier();
  }
};

}  // namespace shardmark::kernels
