// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"
#include "results/disturbance.hpp"

namespace shardmark::workloads {

/// Holds the seconds that processors were busy, and that others of the host took, since it started.
struct ProcessorTimes {
  double busy = 0.0, stolen = 0.0;
};
/// Reads the times from /proc/stat's text, over the processors in ascending order. Returns zeros where they are not in
/// it.
ProcessorTimes processor_times(std::string_view stat, const std::vector<int>& processors);

/// Returns the number of runnable threads in /proc/loadavg's text ("0.20 0.18 0.12 3/80 11206": 3); 0 where there is
/// none.
std::int64_t runnable_threads(std::string_view loadavg);

/// Watches what the processors that the ranks of this node may use do beside the job.
class ConditionsWatch {
 public:
  /// Begins to watch. Collective, as all its functions are.
  explicit ConditionsWatch(const comm::Communicator& comm);

  /// Takes a snapshot when a visit begins.
  void begin();
  /// Returns what happened since then, on the node where others took most.
  results::VisitConditions end() const;

 private:
  struct Snapshot {
    double time = 0.0, own = 0.0;  ///< own: processor time of this process
    std::int64_t switches = 0;
    ProcessorTimes processors;
  };
  Snapshot now() const;

  const comm::Communicator& comm_;
  std::vector<int> processors_;  ///< of the node, that any of its ranks may use; empty but on its first rank
  Snapshot begun_;
  std::int64_t runnable_ = 0;
};

}  // namespace shardmark::workloads
