// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shardmark::reference {

/// The ids of `features` x `samples` bags, feature-major CSR (TorchRec's KeyedJaggedTensor):
/// bag (f, s) is indices[offsets[f * samples + s] .. offsets[f * samples + s + 1]).
struct Batch {
  std::int64_t samples = 0;
  std::int64_t features = 0;
  std::vector<std::int64_t> offsets;  ///< [features * samples + 1], offsets[0] == 0, never decreasing
  std::vector<std::int64_t> indices;  ///< [nnz], rows of the feature's table
  std::vector<float> weights;         ///< [nnz], or empty when every weight is 1

  std::int64_t bags() const { return features * samples; }
  std::int64_t nnz() const { return static_cast<std::int64_t>(indices.size()); }

  /// First and one-past-last index of the ids of feature f.
  std::int64_t begin_of(std::int64_t f) const { return offsets[f * samples]; }
  std::int64_t end_of(std::int64_t f) const { return offsets[(f + 1) * samples]; }
};

/// Samples [first, first + count) of every feature of `batch`; 0 <= first, first + count <= samples.
Batch slice_samples(const Batch& batch, std::int64_t first, std::int64_t count);

/// Throws InputError naming feature, sample and value when the offsets are no CSR of features x samples, an id lies
/// outside [0, rows[feature]) or a weight is not finite. rows [features]: those of each feature's table.
void check_batch(const Batch& batch, std::span<const std::int64_t> rows);

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::Batch, reference::check_batch, reference::slice_samples;
}  // namespace shardmark
