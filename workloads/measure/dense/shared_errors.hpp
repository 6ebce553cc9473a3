// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "datasets/samples.hpp"
#include "reference/bag.hpp"
#include "reference/table.hpp"

namespace shardmark {

/// How many vectors of a global batch share the error of a row, and how many samples all their errors
/// (reference::Uncertain).
class SharedErrors {
 public:
  SharedErrors() = default;
  /// numerical_features: of each sample, in batch.dense.
  SharedErrors(const Samples& batch, std::span<const Feature> features, std::int64_t numerical_features);

  /// Vectors that read the row of the bag that most vectors read; at least 1.
  double vectors(std::int64_t table, const reference::Bag& bag) const;
  /// Samples with the same ids, weights and numerical features as one of them, of those that are most alike.
  double samples() const { return samples_; }

 private:
  std::vector<std::unordered_map<std::int64_t, std::int64_t>> vectors_of_row_;  ///< by table
  double samples_ = 1.0;
};

}  // namespace shardmark
