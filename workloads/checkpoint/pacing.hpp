// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "comm/communicator.hpp"

namespace shardmark::workloads {

/// Names who waits while a save works: steps, which go on afterwards, or the end of the run.
enum class Waiting { steps, end };

/// Adds up the time of steps.
struct StepTimes {
  std::int64_t steps = 0;
  double seconds = 0.0;

  void add(double of_step) {
    ++steps;
    seconds += of_step;
  }
  double mean_ms() const { return steps > 0 ? 1e3 * seconds / static_cast<double>(steps) : 0.0; }
};

/// Paces a save that works between steps by parts, such as rounds of rows: it may take 7 % of the time of the
/// steps. Knows for how long it was waited for.
class Pacing {
 public:
  /// Begin and end a time in which the save works and steps do not.
  void enter();
  void leave(Waiting waiting);

  /// Takes note of a part that took so long.
  void did(double seconds);
  /// Forgets the time of steps that had nothing to be done between them.
  void rest();
  /// Returns whether the save may do a part as long as the latest one now. Rank 0 decides. Collective.
  bool goes_on(const comm::Communicator& comm) const;

  double waited() const { return waited_; }    ///< seconds in which steps waited
  double longest() const { return longest_; }  ///< of the times that steps waited
  double ended() const { return ended_; }      ///< seconds in which the end of the run waited

 private:
  double entered_ = 0.0, left_ = 0.0;
  double waited_ = 0.0, longest_ = 0.0, ended_ = 0.0;
  double credit_ = 0.0;   ///< seconds that it may take
  double of_part_ = 0.0;  ///< seconds of the latest part
};

}  // namespace shardmark::workloads
