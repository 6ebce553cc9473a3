// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"
#include "results/disturbance.hpp"

namespace shardmark::workloads {

/// Seconds that processors were busy, and that others of the host took, since it started.
struct ProcessorTimes {
  double busy = 0.0, stolen = 0.0;
};
/// Of /proc/stat's text, over the processors in ascending order. Zeros where they are not in it.
ProcessorTimes processor_times(std::string_view stat, const std::vector<int>& processors);

/// Runnable threads, of /proc/loadavg's text ("0.20 0.18 0.12 3/80 11206": 3); 0 where it is none.
std::int64_t runnable_threads(std::string_view loadavg);

/// What the processors that the ranks of this node may use do beside the job.
class ConditionsWatch {
 public:
  /// Collective, as all of it.
  explicit ConditionsWatch(const comm::Communicator& comm);

  /// When a visit begins.
  void begin();
  /// What happened since then, of the node where others took most.
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
