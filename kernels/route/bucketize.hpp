// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/array.hpp"
#include "kernels/route/row_partition.hpp"

namespace shardmark::kernels {

/// Holds the bags of one rank as a feature-major CSR: feature f has bags first_bag[f] .. first_bag[f + 1], usually as
/// many as there are samples, and bag b holds indices[offsets[b] .. offsets[b + 1]).
template <class Exec, class Index>
struct Bags {
  ConstArray<Exec, std::int64_t> first_bag;  ///< [features + 1]
  ConstArray<Exec, std::int64_t> offsets;    ///< [bags + 1]
  ConstArray<Exec, Index> indices;           ///< [nnz]
  ConstArray<Exec, float> weights;           ///< [nnz], or empty when every weight is 1
};

/// Holds the arrays that bucketize writes; the caller allocates them. Every id of a feature appears once per strip of
/// the feature, so the size of `ids` is known beforehand: the sum over strips of the ids of their feature.
template <class Exec, class Length, class Index>
struct Buckets {
  ConstArray<Exec, std::int64_t> first_bag;  ///< [slots], ascending: where the lengths of a slot begin
  Array<Exec, Length> lengths;               ///< by slot, then bag of its feature: ids of each (slot, bag)
  Array<Exec, Index> ids;                    ///< local rows, by slot, then bag, then order in the bag
  Array<Exec, float> weights;                ///< as ids; empty when the bags have no weights
};

/// Counts on the host the ids sent per slot: the exchange of counts starts from here.
using SlotCounts = Kokkos::View<std::int64_t*, Kokkos::HostSpace>;

/// Holds, by strip, what the host knows where one slot holds all rows of each of them: this slot, and the bags and ids
/// of the feature. Each slot is that of one strip at most.
struct WholeStrips {
  std::vector<std::int64_t> slots, bags, ids;
};

template <class Exec>
struct BucketizeWorkspace {
  Scratch<Exec, std::int64_t> first_range{"shardmark::bucketize_first_range"};
  Scratch<Exec, std::int64_t> cursors{"shardmark::bucketize_cursors"};
  Scratch<Exec, std::int64_t> counts{"shardmark::bucketize_counts"};
  std::vector<std::int64_t> listed;  ///< on devices: what first_range holds of whole strips
};

/// Sorts the ids of `bags` by the slot that owns their row. A first pass counts the ids of each range of bags by slot,
/// a scan computes where each range writes in each slot, and a second pass writes the ids. One thread (on a device, one
/// warp) takes a range, so no two write one cell, and the result is the same for any number of threads. Writes
/// the ids per slot to `slot_counts` [slots] and returns their sum. Ids must lie in [0, rows) of their table
/// (check_batch). whole: on a device, nothing is counted where it lists the strips, and the host does not wait.
template <class Exec, class InputIndex, class Length, class Index>
std::int64_t bucketize(const Exec& exec, const RowOwners<Exec>& owners, const Bags<Exec, InputIndex>& bags,
                       const Buckets<Exec, Length, Index>& out, const SlotCounts& slot_counts,
                       BucketizeWorkspace<Exec>& workspace, const WholeStrips& whole = {});

}  // namespace shardmark::kernels
