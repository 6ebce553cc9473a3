// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/shard_layout.hpp"

namespace shardmark {

/// Bags of every feature on every rank: a rank's own samples, or its own ids for Pooling::none.
class BagCounts {
 public:
  BagCounts() = default;
  BagCounts(std::int64_t features, std::vector<std::int64_t> by_rank_and_feature)
      : features_(features), counts_(std::move(by_rank_and_feature)) {}

  std::int64_t operator()(int rank, std::int64_t feature) const {
    return counts_[static_cast<std::size_t>(rank * features_ + feature)];
  }
  bool operator==(const BagCounts&) const = default;

 private:
  std::int64_t features_ = 0;
  std::vector<std::int64_t> counts_;
};

/// Where the vectors of a step lie, in elements, for given bag counts.
struct Addresses {
  /// In the owner's buffer: vectors of the bags that rank r sends to own slot k, at owner[r * own slots + k].
  std::vector<std::int64_t> owner;
  std::int64_t owner_size = 0;
  /// Ranges of the owner's buffer that no lookup writes and that must be 0 when they travel.
  std::vector<std::pair<std::int64_t, std::int64_t>> zeros;

  /// In the home's buffer: the packed partials of each strip, in the order in which they are added.
  std::vector<std::vector<std::int64_t>> partials_of_strip;
  std::int64_t packed_size = 0;
};

}  // namespace shardmark
