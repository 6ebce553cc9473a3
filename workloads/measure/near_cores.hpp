// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "comm/communicator.hpp"

namespace shardmark::workloads {

/// Lets what is timed begin while the cores of a node's ranks are as near each other as they have been. A virtual
/// machine has cores that share a cache at one time and not at another, as its host places it, for seconds: exchanges
/// then take two to four times as long and lookups, which have a cache each, less. What a barrier takes shows it.
class NearCores {
 public:
  /// allowance: seconds that it waits in all, at most.  expected: seconds of a barrier of this rank's node before any
  /// was timed; 0: not known.  time_barrier: returns the seconds of one; empty: it is measured. Collective, as wait()
  /// is.
  NearCores(const comm::Communicator& comm, double allowance, double expected,
            std::function<double()> time_barrier = {});

  /// Times barriers of the ranks of each node. Where they take half as long again as the shortest before or what was
  /// expected, or more, it waits until they do not, as long as it may; for what was expected and never seen, no longer
  /// than `patience` in all. Returns the seconds of a barrier at the end on the node where it takes
  /// longest, 0 where no node has several ranks. Barriers of many microseconds tell nothing: ranks take turns on their
  /// cores.
  double wait();

 private:
  const comm::Communicator& comm_;
  comm::Communicator node_;
  std::function<double()> time_barrier_;
  double allowance_;
  double shortest_;         ///< of this node, or as expected; 0: none yet
  double seen_ = 0.0;       ///< the shortest that was timed; 0: none yet
  double patience_ = 20.0;  ///< seconds that it waits yet for what it has not seen
};

/// Returns what a barrier of the ranks of this rank's node takes whose cores share a last-level cache, 0 where hwloc
/// says of most of them that they share none: about 200 ns for each of the log2 P rounds of messages (175 were measured
/// on an EPYC).
double barrier_of_near_cores(const comm::Communicator& comm);

/// Returns whether a barrier of `seconds` says that cores are further apart than when one took `shortest`.
constexpr bool are_apart(double seconds, double shortest) {
  constexpr double longest = 20e-6;  // of ranks that have a core each
  return seconds > 1.5 * shortest && seconds < longest;
}

}  // namespace shardmark::workloads
