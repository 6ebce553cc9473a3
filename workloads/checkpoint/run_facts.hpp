// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "comm/placement/plan.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark::workloads {

/// Returns what a checkpoint says of its run: workload, plan, ranks, samples that were trained, and what has to be the
/// same where it is restored: `tables` (each with shape, storage, value type, optimizer), `features`, `dense` with its
/// optimizer, and `options` (batch, seed, exact, those of generated ids and of reading data). options: those of the
/// plan.
nlohmann::ordered_json run_facts(const RunOptions& options, const placement::Plan& plan, std::int64_t step);

/// Throws InputError naming `checkpoint` and the first thing that is not the same there and here: a table with what of
/// it differs, the features, the dense model, or an option. Plan, ranks and storage in memory of other kinds do not
/// matter.
void require_same_run(const nlohmann::ordered_json& there, const nlohmann::ordered_json& here,
                      const std::string& checkpoint);

/// Throws InputError where options.save or options.restore cannot be, before anything is measured: a folder that cannot
/// be written to, or that holds checkpoints other than the one to go on from; a checkpoint of another model, or of no
/// fewer steps than options ask for; and where rows cannot be saved behind the steps (SaveMode). Not collective.
void require_checkpoints(const RunOptions& options, const placement::Plan& plan);

}  // namespace shardmark::workloads
