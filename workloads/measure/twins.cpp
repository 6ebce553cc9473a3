// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/twins.hpp"

#include <algorithm>

#include "results/statistics.hpp"
#include "results/twin.hpp"

namespace shardmark::workloads {

std::vector<PlannedCase> doubled(std::vector<PlannedCase> cases) {
  const std::size_t count = cases.size();
  for (std::size_t c = 0; c < count; ++c) cases.push_back(PlannedCase(cases[c]));
  return cases;
}

void Twins::certify(const std::vector<CaseState>& states, const std::vector<std::size_t>& visited,
                    std::vector<results::CaseRecord>& records) const {
  const Pair* best = nullptr;
  std::int64_t most = 0;
  for (const Pair& each : pairs_) {
    const std::int64_t visits = std::ssize(states[twin_of(each.number)].timings.visits);
    if (visits == 0 || (visits < most && visits < results::samples_for_interval)) continue;
    best = &each;
    most = visits;
  }
  if (best == nullptr) return;
  results::CaseRecord& record = records[std::ranges::find(visited, best->number) - visited.begin()];
  record.details[results::twin_field] =
      results::to_json(shardmark::results::twin_of(record.step_ms, states[twin_of(best->number)].step_time(),
                                                   best->first_round, results::pairs_of(std::ssize(records))));
}

}  // namespace shardmark::workloads
