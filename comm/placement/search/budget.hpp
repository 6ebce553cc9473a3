// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace shardmark::placement {

/// Limits how much a search may do, in ranks that changes are priced on, so that the same search ends at the same plan
/// wherever it runs. The clock only cuts it short.
class SearchBudget {
 public:
  using Clock = std::chrono::steady_clock;
  SearchBudget(std::int64_t ranks, Clock::time_point deadline) : left_(ranks), all_(ranks), deadline_(deadline) {}

  /// Spends that many ranks, and returns whether any budget is left.
  bool spend(std::int64_t ranks) {
    left_ -= ranks;
    if ((until_clock_ -= ranks) <= 0) {
      until_clock_ = 10'000;
      late_ |= Clock::now() >= deadline_;
    }
    return left_ > 0 && !late_;
  }
  bool late() const { return late_; }
  std::int64_t spent() const { return all_ - left_; }
  /// Returns the share of it that is spent, 0 to 1.
  double progress() const { return static_cast<double>(spent()) / static_cast<double>(all_); }

 private:
  std::int64_t left_, all_;
  Clock::time_point deadline_;
  std::int64_t until_clock_ = 0;
  bool late_ = false;
};

}  // namespace shardmark::placement
