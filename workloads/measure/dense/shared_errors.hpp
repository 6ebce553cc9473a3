// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "reference/bag.hpp"
#include "reference/table.hpp"

namespace shardmark::workloads {

/// How many vectors of a global batch share the error of a row (reference::Uncertain).
class SharedErrors {
 public:
  SharedErrors() = default;
  SharedErrors(const Batch& batch, std::span<const Feature> features);

  /// Vectors that read the row of the bag that most vectors read; at least 1.
  double vectors(std::int64_t table, const reference::Bag& bag) const;

 private:
  std::vector<std::unordered_map<std::int64_t, std::int64_t>> vectors_of_row_;  ///< by table
};

/// Returns how many samples have one logit, of these [samples], at least 1. Whatever made logits equal in double, the
/// same inputs or layers that no input passes, makes the roundings behind equal too.
double most_alike(std::span<const double> logits);

}  // namespace shardmark::workloads
