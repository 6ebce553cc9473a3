// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

#include "comm/exchange/lane.hpp"
#include "comm/exchange/sent_bytes.hpp"
#include "reference/phase.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark::workloads {

/// Seconds and bytes of one rank's step by phase. `bytes` leave the rank, others' bytes that it forwards included;
/// `payload` of them are its own, whichever exchange carries them. 0 in lookup, and in dense without layers.
struct PhaseCosts {
  std::array<double, phase_count> seconds{};
  std::array<std::int64_t, phase_count> bytes{}, payload{};
  double communication_seconds = 0.0;  ///< in exchanges and other collective calls
  double exposed_seconds = 0.0;        ///< those of them in which the rank computed nothing

  /// Adds `sent`: its sections are the phases.
  void count(const comm::SentBytes& sent) {
    const auto total = [](const auto& by_rank) { return std::reduce(by_rank.begin(), by_rank.end()); };
    for (std::size_t p = 0; p < phase_count; ++p) {
      bytes[p] += total(sent.to_ranks(p).sent);
      payload[p] += total(sent.to_ranks(p).payload);
    }
  }

  std::int64_t sent() const { return std::reduce(bytes.begin(), bytes.end()); }
};

/// Charges the time between two calls to the phase that ends, less what other tasks of the lane computed meanwhile, and
/// enters the next.
class PhaseClock {
 public:
  PhaseClock(PhaseCosts& costs, const comm::Lane& lane, Phase first) : costs_(costs), lane_(lane), last_(lane.now()) {
    enter(phase_names[index_of(first)]);
  }

  void end(Phase phase) {
    const double now = lane_.now();
    costs_.seconds[index_of(phase)] += now - last_;
    last_ = now;
    const auto next = index_of(phase) + 1;
    enter(next < phase_count ? phase_names[next] : "between steps");
  }

 private:
  PhaseCosts& costs_;
  const comm::Lane& lane_;
  double last_;
};

/// Runs body(task) of `tasks` tasks in turns (Lane::interleave), and adds what the lane communicates meanwhile to the
/// costs.
template <class Body>
void interleave(comm::Lane& lane, PhaseCosts& costs, std::int64_t tasks, Body&& body) {
  const double busy = lane.busy_seconds(), exposed = lane.exposed_seconds();
  lane.interleave(tasks, body);
  costs.communication_seconds += lane.busy_seconds() - busy;
  costs.exposed_seconds += lane.exposed_seconds() - exposed;
}

}  // namespace shardmark::workloads
