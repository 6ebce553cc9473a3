// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor_train/slice_gradients.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/radix_sort.hpp"
#include "kernels/tensor_train/node_gradients.hpp"

namespace shardmark::kernels {

/// The slice and the place of the gradient of every run.
template <class Exec>
void list_gradients(const Exec& exec, const PrefixTree<Exec>& tree, const Array<Exec, std::int64_t>& keys,
                    const Array<Exec, std::int64_t>& places) {
  const Array<Exec, SliceRun> runs = tree.nodes.runs;
  Kokkos::parallel_for(
      "shardmark::slice_gradient_places", static_range(exec, tree.block_runs.back()),
      KOKKOS_LAMBDA(const std::int64_t run) {
        keys(run) = runs(run).key;
        places(run) = runs(run).gradient;
      });
}

/// One place per slice instead, its gradient 0; `slices` has the runs of each. Returns the places by slice.
template <class Exec>
UniqueRows<Exec> share_places(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& trains,
                              const UniqueRows<Exec>& slices, const SlicePlaces<Exec>& places,
                              const Array<Exec, std::int64_t>& of_run, UniqueRowsWorkspace<Exec>& workspace) {
  const std::int64_t runs = tree.block_runs.back();
  const UniqueRows<Exec> result{workspace.words.first(runs), workspace.segments.first(runs + 1),
                                workspace.total.first(1),
                                RadixPlan(runs, tree.gradient_elements, trains.slices).position_bits};
  const PrefixNodes<Exec> nodes = tree.nodes;
  Kokkos::parallel_for(
      "shardmark::slice_gradients_shared", static_range(exec, runs + 1), KOKKOS_LAMBDA(const std::int64_t slice) {
        const std::int64_t count = slices.count();
        if (slice == count) result.total(0) = count;
        if (slice <= count) result.segments(slice) = slice;
        if (slice >= count) return;
        const SliceRun& first = nodes.runs(slices.position(slices.begin(slice)));
        result.words(slice) = result.word(first.key, first.gradient);
        for (std::int64_t i = slices.begin(slice); i < slices.begin(slice + 1); ++i)
          of_run(slices.position(i)) = first.gradient;
      });
  Kokkos::deep_copy(exec, places.gradients, 0.0F);
  return result;
}

template <class Exec>
LastSlices<Exec> pack_last_slices(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& trains,
                                  TensorTrainWorkspace<Exec>& workspace) {
  const std::int64_t stride = ScratchFloats::padded(trains.largest[0].slice), runs = tree.first_run(1, 0);
  const LastSlices<Exec> last{workspace.last_slices.first(runs * stride), workspace.run_of_row.first(tree.rows()),
                              stride};
  const auto [policy, scratch_level] = team_per_run(exec, runs, stride);
  Kokkos::parallel_for("shardmark::pack_last_slices", policy,
                       PackLastSlices<Exec>{tree.nodes, trains, last, scratch_level, stride});
  return last;
}

/// Floats of what nodes give to their parents and rows to the last core.
template <class Exec>
FloatsPerNode kept_shares(const TensorTrains<Exec>& trains, bool unordered) {
  FloatsPerNode floats{};
  for (int level = 1; level + 1 < trains.levels; ++level) floats[level] = trains.largest[level].left;
  if (!unordered) floats[0] = trains.largest[0].slice;
  return floats;
}

template <class Exec>
void add_blocks(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& trains,
                ConstArray<Exec, float> gradients, const SlicePlaces<Exec>& places,
                TensorTrainWorkspace<Exec>& workspace) {
  const bool unordered = places.unordered();
  const LastSlices<Exec> last_slices = pack_last_slices(exec, tree, trains, workspace);
  const FloatsPerNode of_products = kept_products(trains), of_shares = kept_shares(trains, unordered);
  FloatsPerNode both = of_shares;
  for (int level = 0; level < trains.levels; ++level) both[level] += of_products[level];
  for (const BlockPass& pass : block_passes(tree, both, workspace.most_bytes / std::int64_t{sizeof(float)})) {
    float* next = workspace.vectors.first(floats_of(tree, both, pass)).data();
    const LevelVectors products = lay_out(tree, of_products, pass, next), shares = lay_out(tree, of_shares, pass, next);
    node_products(exec, tree, trains, pass, products);
    const auto launch = [&](const std::string& label, int level, std::int64_t floats, const auto& kernel) {
      const std::int64_t first = tree.first_run(level, pass.begin);
      const auto [policy, scratch_level] = team_per_run(exec, tree.first_run(level, pass.end) - first, floats);
      Kokkos::parallel_for(label, policy, kernel(first, scratch_level, floats));
    };
    for (int level = 1; level < trains.levels; ++level)
      launch("shardmark::slice_gradients", level, NodeGradients<Exec>::scratch_size(trains, level, unordered),
             [&](std::int64_t first, int scratch_level, std::int64_t floats) {
               return NodeGradients<Exec>{tree.nodes,  trains, gradients, products,      shares, places,
                                          last_slices, level,  first,     scratch_level, floats};
             });
    if (unordered) continue;
    launch("shardmark::slice_gradients_of_last_core", 0, trains.largest[0].slice,
           [&](std::int64_t first, int scratch_level, std::int64_t floats) {
             return LastCoreGradients<Exec>{tree.nodes, trains, shares[0], places, first, scratch_level, floats};
           });
  }
}

template <class Exec>
RowGradients<Exec> slice_gradients(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& trains,
                                   ConstArray<Exec, float> gradients, SliceSums order,
                                   TensorTrainWorkspace<Exec>& workspace) {
  const std::int64_t runs = tree.block_runs.back();
  const Array<Exec, std::int64_t> keys = workspace.gradient_keys.first(runs);
  const Array<Exec, std::int64_t> of_run = workspace.gradient_places.first(runs);
  list_gradients(exec, tree, keys, of_run);
  SlicePlaces<Exec> places{workspace.gradients.first(tree.gradient_elements), of_run, {}};
  UniqueRows<Exec> slices;
  if (order == SliceSums::ordered) {
    slices = unique_rows<Exec>(exec, keys, trains.slices, of_run, tree.gradient_elements, workspace.slices);
  } else {
    slices = share_places<Exec>(exec, tree, trains, unique_rows<Exec>(exec, keys, trains.slices, workspace.slices),
                                places, of_run, workspace.shared);
    if (workspace.locks.extent(0) == 0)
      workspace.locks = Array<Exec, std::uint32_t>("shardmark::slice_locks", std::size_t{1} << slice_lock_bits);
    places.locks = workspace.locks;
  }
  add_blocks(exec, tree, trains, gradients, places, workspace);
  return {slices, {}, {}, places.gradients};
}

#define SLICE_GRADIENTS_ON(Exec) SHARDMARK_INSTANCE(slice_gradients<Exec>)
SHARDMARK_ON_EACH_SPACE(SLICE_GRADIENTS_ON)

}  // namespace shardmark::kernels
