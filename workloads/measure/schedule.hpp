// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/cases/options.hpp"

namespace shardmark {

/// How `n` things that are measured take turns in a round: each once, in a random order, so that a drift of the machine
/// meets all alike. `what` sets orders of the same round apart.
std::vector<std::size_t> order_of_turns(std::size_t n, std::uint64_t seed, std::int64_t round, std::int64_t what = 0);

/// Timed steps of a case's visits, when one step takes so long: as many as a quarter of a second holds, 2 to 200; with
/// options.steps a third of them.
std::int64_t steps_per_visit(const RunOptions& options, double step_seconds);

/// Whether the measurement ends after so many rounds: with options.steps when every case has as many; else after at
/// least 3 rounds, when the medians of all cases are known to 2.5 % or the seconds are spent. step_ms: of all cases.
bool is_done(const RunOptions& options, std::int64_t rounds, double spent_seconds,
             std::span<const std::vector<double>* const> step_ms);

}  // namespace shardmark
