// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/rank_sums.hpp"

#include <algorithm>
#include <utility>

#include "reference/work.hpp"

namespace shardmark::placement {

RankSums sums_of(const RankWork& work, const MachineModel& machine) {
  RankSums sums;
  TermCounts counts = work.counts;
  sums[RankSums::sorted] = std::exchange(at(counts, Term::sorted_id), 0.0) * at(machine.seconds, Term::sorted_id);
  const auto linear = compute_seconds(machine, counts);
  std::ranges::copy(linear, sums.at.begin() + RankSums::computing);
  sums[RankSums::sorted_keys] = work.sorted_keys;
  std::size_t phase = 0;
  for (const PhaseBytes* bytes : {&work.requested, &work.vectors, &work.gradients}) {
    sums[RankSums::exchanged + phase] = bytes->all;
    sums[RankSums::in_node + phase] = bytes->node;
    sums[RankSums::on_rail + phase++] = bytes->rail;
  }
  sums[RankSums::row_sums] = work.row_sums;
  sums[RankSums::memory] = work.memory;
  return sums;
}

std::array<double, phase_count> compute_seconds(const RankSums& sums) {
  std::array<double, phase_count> seconds;
  std::copy_n(sums.at.begin() + RankSums::computing, phase_count, seconds.begin());
  if (sums[RankSums::sorted] > 0.0)
    seconds[index_of(Phase::input_dist)] +=
        sums[RankSums::sorted] * radix_passes(static_cast<std::int64_t>(sums[RankSums::sorted_keys]));
  return seconds;
}

}  // namespace shardmark::placement
