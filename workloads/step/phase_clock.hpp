// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "comm/exchange/progress_thread.hpp"
#include "comm/exchange/sent_bytes.hpp"
#include "reference/phase.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark::workloads {

/// Counts seconds and bytes of one rank's step by phase. `bytes` leave the rank, others' bytes that it forwards
/// included; `payload` of them are its own, whichever exchange carries them. They are 0 in lookup, and in dense without
/// layers.
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

/// Is a region of Kokkos Tools on this thread (KOKKOS_TOOLS_LIBS), such as a phase or an exchange. Regions nest, tasks
/// that take turns on a thread do not: without `nests` there is none.
class Region {
 public:
  Region(std::string_view name, bool nests) : nests_(nests) {
    if (nests_) Kokkos::Profiling::pushRegion(std::string(name));
  }
  ~Region() {
    if (nests_) Kokkos::Profiling::popRegion();
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  bool nests_;
};

/// Charges the time between two calls to the phase that ends, less what other tasks of the progress thread computed
/// meanwhile, and enters the next, the last of which is `last`.
class PhaseClock {
 public:
  PhaseClock(PhaseCosts& costs, const comm::ProgressThread& progress, Phase first, Phase last)
      : costs_(costs), progress_(progress), last_(last), since_(progress.now()) {
    begin(index_of(first));
  }

  void end(Phase phase) {
    const double now = progress_.now();
    costs_.seconds[index_of(phase)] += now - since_;
    since_ = now;
    region_.reset();
    const auto next = index_of(phase) + 1;
    if (phase != last_)
      begin(next);
    else
      enter(next < phase_count ? phase_names[next] : "between steps");
  }

 private:
  void begin(std::size_t phase) {
    enter(phase_names[phase]);
    region_.emplace(phase_names[phase], !progress_.interleaves());
  }

  PhaseCosts& costs_;
  const comm::ProgressThread& progress_;
  Phase last_;
  double since_;
  std::optional<Region> region_;
};

/// Runs body(task) of `tasks` tasks in turns (ProgressThread::interleave), and adds the time that the progress thread
/// communicates meanwhile to the costs.
template <class Body>
void interleave(comm::ProgressThread& progress, PhaseCosts& costs, std::int64_t tasks, Body&& body) {
  const double busy = progress.busy_seconds(), exposed = progress.exposed_seconds();
  progress.interleave(tasks, body);
  costs.communication_seconds += progress.busy_seconds() - busy;
  costs.exposed_seconds += progress.exposed_seconds() - exposed;
}

}  // namespace shardmark::workloads
