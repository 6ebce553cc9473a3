// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>

#include "workloads/net/draw_case.hpp"
#include "workloads/net/run_case.hpp"

namespace shardmark::workloads {

/// Holds all ranks of a launch, of which rank 0 leads and the first few run each case; the others sleep meanwhile.
class NetWorld {
 public:
  /// Finds the groups of ranks. Collective.
  explicit NetWorld(const comm::Communicator& world);

  const std::map<RankGroup, GroupFacts>& groups() const { return facts_; }

  /// Runs a case on the first one.ranks ranks, for at most so long: then the processes end by SIGALRM. Rank 0 calls it.
  NetOutcome run(const NetCase& one, std::chrono::seconds limit, const std::string& export_file = {});
  /// Lets the others come back from serve(). Rank 0 calls it.
  void end();
  /// Takes part in cases until the end. The other ranks call it.
  void serve();

 private:
  NetOutcome take_part(const NetCase& one, std::chrono::seconds limit, const std::string& export_file);

  const comm::Communicator& world_;
  std::map<RankGroup, std::unique_ptr<comm::Communicator>> comms_;  ///< of those that this rank is in
  std::map<RankGroup, GroupFacts> facts_;
};

}  // namespace shardmark::workloads
