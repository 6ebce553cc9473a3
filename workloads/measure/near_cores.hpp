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
  /// time_barrier: returns the seconds of a barrier of this rank's node; empty: it is measured. Collective, as wait()
  /// is.
  explicit NearCores(const comm::Communicator& comm, std::function<double()> time_barrier = {});

  /// Times barriers of the ranks of each node. Where they take half as long again as the shortest before, or more, it
  /// waits until they do not, or for `most_seconds`, and in all no longer than the time since the first call that was
  /// not spent waiting. Returns the seconds of a barrier at the end on the node where it takes longest, 0 where no node
  /// has several ranks. Barriers of many microseconds tell nothing: ranks take turns on their cores.
  double wait(double most_seconds);

 private:
  const comm::Communicator& comm_;
  comm::Communicator node_;
  std::function<double()> time_barrier_;
  double begin_ = 0.0, waited_ = 0.0;
  double shortest_ = 0.0;  ///< of this node; 0: none yet
};

/// Bounds the wait before one visit.
inline constexpr double most_seconds_apart = 8.0;

/// Returns whether a barrier of `seconds` says that cores are further apart than when one took `shortest`.
constexpr bool are_apart(double seconds, double shortest) {
  constexpr double longest = 20e-6;  // of ranks that have a core each
  return seconds > 1.5 * shortest && seconds < longest;
}

}  // namespace shardmark::workloads
