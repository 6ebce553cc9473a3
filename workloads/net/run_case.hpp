// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/communicator.hpp"
#include "workloads/measure/wrong_values.hpp"
#include "workloads/net/net_case.hpp"
#include "workloads/step/pipeline/stage_pool.hpp"

namespace shardmark::workloads {

/// Holds what a run of a case showed; the same on all of its ranks.
struct NetOutcome {
  std::string refused = {};  ///< why the program does not run it; empty: it does
  std::string failed = {};   ///< what was wrong; empty: nothing was
  ClosenessByKind closeness = {};
};

/// Takes the steps of a case as the program does when it checks one, and compares them with every oracle. Collective
/// over comm, which has one.ranks ranks. export_file: where its first step is exported to; empty: it is not.
NetOutcome run_case(const comm::Communicator& comm, const NetCase& one, const PoolFacts& facts,
                    const std::string& export_file = {});

}  // namespace shardmark::workloads
