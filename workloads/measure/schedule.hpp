// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/cases/options.hpp"

namespace shardmark {

/// How the cases of a job take turns. In every round all plans have their turn in a random order, and on each plan's
/// tables all its cases in a random order, so that a drift of the machine meets all alike. Keyed by the seed.
std::vector<std::size_t> order_of_plans(std::size_t plans, std::uint64_t seed, std::int64_t round);
std::vector<std::size_t> order_of_cases(const std::vector<std::size_t>& cases, std::uint64_t seed, std::int64_t round);

/// Timed steps of a case's visits, when one step takes so long: as many as a quarter of a second holds, 2 to 200; with
/// options.steps a third of them.
std::int64_t steps_per_visit(const RunOptions& options, double step_seconds);

/// Whether the measurement ends after so many rounds: with options.steps when every case has as many; else after at
/// least 3 rounds, when the medians of all cases are known to 2.5 % or the seconds are spent. step_ms: of all cases.
bool is_done(const RunOptions& options, std::int64_t rounds, double spent_seconds,
             std::span<const std::vector<double>* const> step_ms);

}  // namespace shardmark
