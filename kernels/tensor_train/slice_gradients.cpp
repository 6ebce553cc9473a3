// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor_train/slice_gradients.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/sort/radix_sort.hpp"
#include "kernels/tensor_train/node_gradients.hpp"

namespace shardmark::kernels {

/// Lists the slice and the place of the gradient of every run.
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

/// Gives the sum of each slice a place, without gaps; `slices` has the runs of each. of_run: [runs] that of its slice.
/// Returns the places by slice.
template <class Exec>
UniqueRows<Exec> place_sums(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& tts,
                            const UniqueRows<Exec>& slices, const Array<Exec, std::int64_t>& of_run,
                            UniqueRowsWorkspace<Exec>& workspace) {
  const std::int64_t runs = tree.runs();
  const UniqueRows<Exec> result{workspace.words.first(runs), workspace.segments.first(runs + 1),
                                workspace.total.first(1),
                                RadixPlan(runs, tree.gradient_elements(), tts.slices).position_bits};
  const PrefixNodes<Exec> nodes = tree.nodes;
  Kokkos::parallel_scan(
      "shardmark::place_slice_sums", static_range(exec, runs + 1),
      KOKKOS_LAMBDA(const std::int64_t slice, std::int64_t& place, const bool final) {
        const std::int64_t count = slices.count();
        if (final && slice == count) result.total(0) = count;
        if (final && slice <= count) result.segments(slice) = slice;
        if (slice >= count) return;
        const std::int64_t begin = slices.begin(slice), end = slices.begin(slice + 1);
        if (final) {
          result.words(slice) = result.word(slices.key(slice), place);
          for (std::int64_t i = begin; i < end; ++i) of_run(slices.position(i)) = place;
        }
        const SliceRun& run = nodes.runs(slices.position(begin));
        place += tts.tables.shards(run.table).step(run.core).padded_slice();
      });
  return result;
}

/// Adds the gradients of the runs of a pass to the sums of their slices, in the order of the runs.
template <class Exec>
struct SumRuns {
  PrefixNodes<Exec> tree;
  TensorTrains<Exec> tts;
  UniqueRows<Exec> slices;
  SlicePlaces<Exec> runs, sums;
  std::array<std::int64_t, TensorTrainShape::most_cores> first_run, end_run;  ///< of the pass, by level

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t slice = team.league_rank();
    if (slice >= slices.count()) return;
    for (std::int64_t i = slices.begin(slice); i < slices.begin(slice + 1); ++i) {
      const std::int64_t run = slices.position(i);
      for (int level = 0; level < tree.levels; ++level) {
        if (run < first_run[level] || run >= end_run[level]) continue;
        const float* from = runs.of(run, level);
        float* to = sums.of(run, level);
        const CoreStep step = tts.tables.shards(tree.runs(run).table).step(tree.runs(run).core);
        Kokkos::parallel_for(Kokkos::TeamVectorRange(team, step.slice()),
                             [&](const std::int64_t e) { to[e] += from[e]; });
      }
    }
  }
};

template <class Exec>
LastSlices<Exec> pack_last_slices(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& tts,
                                  TensorTrainWorkspace<Exec>& workspace) {
  const std::int64_t stride = ScratchFloats::padded(tts.largest[0].slice), runs = tree.first_run(1, 0);
  const LastSlices<Exec> last{workspace.last_slices.first(runs * stride), workspace.run_of_row.first(tree.rows()),
                              stride};
  const auto [policy, scratch_level] = team_per_run(exec, runs, stride);
  Kokkos::parallel_for("shardmark::pack_last_slices", policy,
                       PackLastSlices<Exec>{tree.nodes, tts, last, scratch_level, stride});
  return last;
}

/// Returns the floats of what nodes give to their parents and rows to the last core.
template <class Exec>
FloatsPerNode kept_shares(const TensorTrains<Exec>& tts, bool unordered) {
  FloatsPerNode floats{};
  for (int level = 1; level + 1 < tts.levels; ++level) floats[level] = tts.largest[level].left;
  if (!unordered) floats[0] = tts.largest[0].slice;
  return floats;
}

/// Returns where the gradients of the runs of a pass lie, from `next` on.
template <class Exec>
SlicePlaces<Exec> places_of_runs(const PrefixTree<Exec>& tree, const BlockPass& pass,
                                 const ConstArray<Exec, std::int64_t>& of_run, const Array<Exec, float>& vectors,
                                 const float* next) {
  SlicePlaces<Exec> places{.gradients = vectors, .of_run = of_run, .shift = {}, .locks = {}};
  std::int64_t place = next - vectors.data();
  for (int level = 0; level < tree.nodes.levels; ++level) {
    places.shift[level] = place - tree.first_element(level, pass.begin);
    place += tree.first_element(level, pass.end) - tree.first_element(level, pass.begin);
  }
  return places;
}

template <class Exec>
void sum_runs(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& tts, const BlockPass& pass,
              const UniqueRows<Exec>& slices, const SlicePlaces<Exec>& runs, const SlicePlaces<Exec>& sums) {
  SumRuns<Exec> kernel{tree.nodes, tts, slices, runs, sums, {}, {}};
  for (int level = 0; level < tree.nodes.levels; ++level) {
    kernel.first_run[level] = tree.first_run(level, pass.begin);
    kernel.end_run[level] = tree.first_run(level, pass.end);
  }
  Kokkos::parallel_for("shardmark::sum_slice_runs", team_per_run(exec, tree.runs(), 0).first, kernel);
}

/// Adds a step's gradients, pass by pass. `slices` has the runs of each slice if their gradients are summed behind each
/// pass.
template <class Exec>
void add_passes(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& tts,
                ConstArray<Exec, float> gradients, ConstArray<Exec, std::int64_t> of_run,
                const UniqueRows<Exec>* slices, const SlicePlaces<Exec>& sums, TensorTrainWorkspace<Exec>& workspace) {
  const bool unordered = sums.unordered();
  const LastSlices<Exec> last_slices = pack_last_slices(exec, tree, tts, workspace);
  const FloatsPerNode of_products = kept_products(tts), of_shares = kept_shares(tts, unordered);
  FloatsPerNode both = of_shares;
  for (int level = 0; level < tts.levels; ++level) both[level] += of_products[level];
  const bool with_runs = slices != nullptr;
  for (const BlockPass& pass :
       block_passes(tree, both, with_runs, workspace.most_bytes / std::int64_t{sizeof(float)})) {
    const Array<Exec, float> vectors =
        workspace.vectors.first(floats_of(tree, both, pass) + (with_runs ? run_elements(tree, pass) : 0));
    float* next = vectors.data();
    const LevelVectors products = lay_out(tree, of_products, pass, next), shares = lay_out(tree, of_shares, pass, next);
    const SlicePlaces<Exec> places = with_runs ? places_of_runs<Exec>(tree, pass, of_run, vectors, next) : sums;
    node_products(exec, tree, tts, pass, products);
    const auto launch = [&](const std::string& label, int level, std::int64_t floats, const auto& kernel) {
      const std::int64_t first = tree.first_run(level, pass.begin);
      const auto [policy, scratch_level] = team_per_run(exec, tree.first_run(level, pass.end) - first, floats);
      Kokkos::parallel_for(label, policy, kernel(first, scratch_level, floats));
    };
    for (int level = 1; level < tts.levels; ++level)
      launch("shardmark::slice_gradients", level, NodeGradients<Exec>::scratch_size(tts, level, unordered),
             [&](std::int64_t first, int scratch_level, std::int64_t floats) {
               return NodeGradients<Exec>{tree.nodes,  tts,   gradients, products,      shares, places,
                                          last_slices, level, first,     scratch_level, floats};
             });
    if (unordered) continue;
    launch("shardmark::slice_gradients_of_last_core", 0, tts.largest[0].slice,
           [&](std::int64_t first, int scratch_level, std::int64_t floats) {
             return LastCoreGradients<Exec>{tree.nodes, tts, shares[0], places, first, scratch_level, floats};
           });
    if (with_runs) sum_runs(exec, tree, tts, pass, *slices, places, sums);
  }
}

/// Sums the gradients of slices. For one block the gradients of runs are the result, whose reader adds them; for
/// several they would be as many times as large as the slices, and are added to a sum of each slice behind each pass.
template <class Exec>
RowGradients<Exec> slice_gradients(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& tts,
                                   ConstArray<Exec, float> gradients, SliceSums order,
                                   TensorTrainWorkspace<Exec>& workspace) {
  const bool unordered = order == SliceSums::unordered;
  const Array<Exec, std::int64_t> keys = workspace.gradient_keys.first(tree.runs());
  const Array<Exec, std::int64_t> of_run = workspace.gradient_places.first(tree.runs());
  list_gradients(exec, tree, keys, of_run);
  if (!unordered && tree.nodes.blocks <= 1) {
    const auto runs = unique_rows<Exec>(exec, keys, tts.slices, of_run, tree.gradient_elements(), workspace.slices);
    const Array<Exec, float> values = workspace.gradients.first(tree.gradient_elements());
    add_passes<Exec>(exec, tree, tts, gradients, of_run, nullptr,
                     {.gradients = values, .of_run = of_run, .shift = {}, .locks = {}}, workspace);
    return {runs, {}, {}, values};
  }
  const UniqueRows<Exec> slices = unique_rows<Exec>(exec, keys, tts.slices, workspace.slices);
  const Array<Exec, std::int64_t> sum_of_run = workspace.sum_places.first(tree.runs());
  const UniqueRows<Exec> result = place_sums<Exec>(exec, tree, tts, slices, sum_of_run, workspace.sums);
  const Array<Exec, float> values = workspace.gradients.first(std::min(tree.gradient_elements(), tts.elements));
  Kokkos::deep_copy(exec, values, 0.0F);
  if (unordered && workspace.locks.extent(0) == 0)
    workspace.locks = Array<Exec, std::uint32_t>("shardmark::slice_locks", std::size_t{1} << slice_lock_bits);
  SlicePlaces<Exec> sums{.gradients = values, .of_run = sum_of_run, .shift = {}, .locks = {}};
  if (unordered) sums.locks = workspace.locks;
  add_passes<Exec>(exec, tree, tts, gradients, of_run, unordered ? nullptr : &slices, sums, workspace);
  return {result, {}, {}, values};
}

SHARDMARK_INSTANCE(slice_gradients<DefaultSpace>)

}  // namespace shardmark::kernels
