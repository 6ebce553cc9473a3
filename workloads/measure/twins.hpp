// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "workloads/measure/case_record.hpp"

namespace shardmark::workloads {

/// Every case once more behind them all: its twin.
std::vector<PlannedCase> doubled(std::vector<PlannedCase> cases);

/// Of several cases the one that is measured twice, as two cases (results/twin.hpp): another one once it is stopped.
class Twins {
 public:
  /// cases: without the twins behind them.
  explicit Twins(std::size_t cases) : cases_(cases) {}

  /// From this round on.
  void begin(std::size_t number, std::int64_t round) { pairs_.push_back({number, round}); }
  /// The case whose twin is visited now; nothing where there is none.
  std::optional<std::size_t> current() const {
    return pairs_.empty() ? std::nullopt : std::optional(pairs_.back().number);
  }
  std::size_t twin_of(std::size_t number) const { return cases_ + number; }

  /// Puts what they came to into the details of its record: of the latest pair with enough rounds for an interval, else
  /// of the one with most. visited: the number of each record's case.
  void certify(const std::vector<CaseState>& states, const std::vector<std::size_t>& visited,
               std::vector<results::CaseRecord>& records) const;

 private:
  struct Pair {
    std::size_t number = 0;
    std::int64_t first_round = 0;
  };

  std::size_t cases_;
  std::vector<Pair> pairs_;  ///< the last is measured now
};

}  // namespace shardmark::workloads
