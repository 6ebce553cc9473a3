// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/dense/shared_errors.hpp"

#include <algorithm>
#include <bit>

namespace shardmark::workloads {

SharedErrors::SharedErrors(const Batch& batch, std::span<const Feature> features) {
  for (std::int64_t f = 0; f < batch.features; ++f) {
    const auto table = static_cast<std::size_t>(features[f].table);
    vectors_of_row_.resize(std::max(vectors_of_row_.size(), table + 1));
    for (std::int64_t i = batch.begin_of(f); i < batch.end_of(f); ++i) ++vectors_of_row_[table][batch.indices[i]];
  }
}

double SharedErrors::vectors(std::int64_t table, const reference::Bag& bag) const {
  std::int64_t most = 1;
  for (const std::int64_t id : bag.ids) most = std::max(most, vectors_of_row_[table].at(id));
  return static_cast<double>(most);
}

double most_alike(std::span<const double> logits) {
  constexpr int dropped_bits = 12;  // double sums, too, depend on their order
  std::unordered_map<std::uint64_t, std::int64_t> alike;
  std::int64_t most = 1;
  for (const double logit : logits)
    most = std::max(most, ++alike[(std::bit_cast<std::uint64_t>(logit) + (1u << (dropped_bits - 1))) >> dropped_bits]);
  return static_cast<double>(most);
}

}  // namespace shardmark::workloads
