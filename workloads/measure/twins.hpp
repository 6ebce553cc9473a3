// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "workloads/measure/case_record.hpp"

namespace shardmark::workloads {

/// Returns the cases with every one of them repeated once, behind them all: its twin.
std::vector<PlannedCase> doubled(std::vector<PlannedCase> cases);

/// Selects among several cases the one that is measured twice, as two cases (results/twin.hpp): another one once it is
/// stopped.
class Twins {
 public:
  /// Takes the number of cases: without the twins behind them.
  explicit Twins(std::size_t cases) : cases_(cases) {}

  /// Begins to measure the twin of case `number` from this round on.
  void begin(std::size_t number, std::int64_t round) { pairs_.push_back({number, round}); }
  /// Returns the case whose twin is visited now; nothing where there is none.
  std::optional<std::size_t> current() const {
    return pairs_.empty() ? std::nullopt : std::optional(pairs_.back().number);
  }
  std::size_t twin_of(std::size_t number) const { return cases_ + number; }

  /// Writes the result of the twins into the details of its record: that of the latest pair with enough rounds for an
  /// interval, else of the one with most. visited: the number of each record's case.
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
