// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/table.hpp"

namespace shardmark::reference {

/// Returns the ids that a table has.
KeyRange key_range_of(const Table& table);

/// Holds the ids of `features` x `samples` bags as a feature-major CSR (TorchRec's KeyedJaggedTensor): bag (f, s) is
/// indices[offsets[f * samples + s] .. offsets[f * samples + s + 1]). Where the ids of any feature are nested, bag b
/// has segments [first_segment[b], first_segment[b + 1]), and segment k has ids [segment_offsets[k], segment_offsets[k
/// + 1]); a bag of a feature without segments is one segment then.
struct Batch {
  std::int64_t samples = 0;
  std::int64_t features = 0;
  std::vector<std::int64_t> offsets;               ///< [features * samples + 1], offsets[0] == 0, never decreasing
  std::vector<std::int64_t> indices;               ///< [nnz], rows of the feature's table
  std::vector<float> weights;                      ///< [nnz], or empty when every weight is 1
  std::vector<std::int64_t> first_segment = {};    ///< [features * samples + 1], or empty when no ids are nested
  std::vector<std::int64_t> segment_offsets = {};  ///< [first_segment.back() + 1], or empty likewise

  std::int64_t bags() const { return features * samples; }
  std::int64_t nnz() const { return static_cast<std::int64_t>(indices.size()); }

  /// These are the first and one-past-last index of the ids of feature f.
  std::int64_t begin_of(std::int64_t f) const { return offsets[f * samples]; }
  std::int64_t end_of(std::int64_t f) const { return offsets[(f + 1) * samples]; }
};

/// Returns samples [first, first + count) of every feature of `batch`; 0 <= first, first + count <= samples.
Batch slice_samples(const Batch& batch, std::int64_t first, std::int64_t count);

/// Throws InputError naming feature, sample and value when the offsets are no CSR of features x samples, segments are
/// no CSR of the ids of each bag, an id lies outside keys[feature] or a weight is not finite. keys, rows [features]:
/// those of each feature's table.
void check_batch(const Batch& batch, std::span<const KeyRange> keys);
void check_batch(const Batch& batch, std::span<const std::int64_t> rows);

/// Holds the ids of one bag and their weights, which are empty when all are 1.
struct Bag {
  std::int64_t sample;
  std::int64_t position;  ///< of the bag within its sample
  std::span<const std::int64_t> ids;
  std::span<const float> weights;

  double weight(std::size_t i) const { return weights.empty() ? 1.0 : static_cast<double>(weights[i]); }
};

/// Calls visit(Bag) for the bags of samples [first, first + count) of feature number `number`: a sample, with segment
/// rank 1 each of its segments, for Pooling::none each of its ids.
template <class Visit>
void for_each_bag(const Batch& batch, std::int64_t number, const Feature& feature, std::int64_t first,
                  std::int64_t count, Visit&& visit) {
  const auto bag_of = [&](std::int64_t sample, std::int64_t position, std::int64_t begin, std::int64_t end) {
    const auto at = static_cast<std::size_t>(begin), size = static_cast<std::size_t>(end - begin);
    const std::span weights(batch.weights);
    return Bag{sample, position, std::span(batch.indices).subspan(at, size),
               weights.empty() ? weights : weights.subspan(at, size)};
  };
  for (std::int64_t s = first; s < first + count; ++s) {
    const auto of_sample = static_cast<std::size_t>(number * batch.samples + s);
    const std::int64_t begin = batch.offsets[of_sample], end = batch.offsets[of_sample + 1];
    if (has_bag_per_sample(feature)) {
      visit(bag_of(s, 0, begin, end));
    } else if (feature.pooling == Pooling::none) {
      for (std::int64_t i = begin; i < end; ++i) visit(bag_of(s, i - begin, i, i + 1));
    } else {
      const std::int64_t segment = batch.first_segment[of_sample];
      for (std::int64_t k = segment; k < batch.first_segment[of_sample + 1]; ++k)
        visit(bag_of(s, k - segment, batch.segment_offsets[k], batch.segment_offsets[k + 1]));
    }
  }
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::Batch, reference::check_batch, reference::key_range_of, reference::slice_samples;
}  // namespace shardmark
