// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/affinity.hpp"
#include "comm/communicator.hpp"
#include "comm/placement/cost/machine_model.hpp"
#include "comm/placement/plan.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark::workloads {

struct Earlier;

/// Holds a plan, and the tables that it is a plan of: those of a job may differ in how they are stored in memory.
struct PlannedTables {
  placement::Plan plan;
  RunOptions options;  ///< of the job, with these tables, stored as the plan says
};

/// Is one row of the results: a plan (number in the list of plans) and how its data move.
struct PlannedCase {
  std::size_t plan = 0;
  Case config;
};

/// Says what is measured, on which ranks. All of it outlives the measurement.
struct Job {
  const comm::Communicator& comm;
  const RunOptions& options;
  const std::vector<PlannedTables>& plans;
  const std::vector<PlannedCase>& cases;
  const placement::MachineModel* machine = nullptr;  ///< by which cases are predicted; null: they are not
  const Earlier* earlier = nullptr;                  ///< what a job before this one measured; null: nothing
  std::optional<comm::CoreSet> stage_cores = {};     ///< of threads that prepare batches; absent: these are not bound

  std::vector<std::size_t> cases_of(std::size_t plan) const;
  const PlannedTables& planned(std::size_t number) const { return plans[cases[number].plan]; }
  /// Returns the name of a case, "row_wise unique_rows pairwise".
  std::string name_of(std::size_t number) const;
};

}  // namespace shardmark::workloads
