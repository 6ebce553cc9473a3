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

/// Holds, by strip, what the host knows of it: the bags and ids of its feature and, where one slot holds all rows of
/// each strip, this slot (else `slots` is empty). Each slot is that of one strip at most.
struct KnownStrips {
  std::vector<std::int64_t> bags, ids, slots;
};

template <class Exec>
struct BucketizeWorkspace {
  Scratch<Exec, std::int64_t> first_range{"shardmark::bucketize_first_range"};
  Scratch<Exec, std::int64_t> cursors{"shardmark::bucketize_cursors"};
  Scratch<Exec, std::int64_t> counts{"shardmark::bucketize_counts"};
  std::vector<std::int64_t> listed;  ///< on devices: what first_range holds
};

/// Sorts the ids of `bags` by the slot that owns their row. A first pass counts the ids of each range of bags by slot,
/// a scan computes where each range writes in each slot, and a second pass writes the ids. One thread (on a device, one
/// warp) takes a range, so no two write one cell, and the result is the same for any number of threads. Ids must
/// lie in [0, rows) of their table (check_batch). Writes the ids of each slot to `slot_counts` [slots] and returns
/// true; but where the host knows them (known.slots), nothing is counted on a device, and it returns false. The host
/// waits for no kernel of a device.
template <class Exec, class InputIndex, class Length, class Index>
bool bucketize(const Exec& exec, const RowOwners<Exec>& owners, const Bags<Exec, InputIndex>& bags,
               const Buckets<Exec, Length, Index>& out, const Array<Exec, std::int64_t>& slot_counts,
               BucketizeWorkspace<Exec>& workspace, const KnownStrips& known);

}  // namespace shardmark::kernels
