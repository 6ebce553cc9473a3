// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/exchange/progress_thread.hpp"
#include "comm/exchange/sent_bytes.hpp"
#include "kernels/mark.hpp"
#include "reference/phase.hpp"
#include "workloads/batches/execution.hpp"
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

/// Times the phases of a step whose kernels run on a device while the host goes on: between two marks runs what was
/// launched between them. Where groups take turns, that of a group which still communicates counts for the phase of the
/// other one; where several threads prepare batches, what they launch meanwhile counts too.
class PhaseMarks {
 public:
  /// Sets a mark at which no phase ends.
  void begin() { set(phase_count); }
  void end(Phase phase) { set(index_of(phase)); }

  void clear() { used_ = 0; }

  /// Adds the seconds up to each mark to the phase that ended there, and forgets the marks. It waits for the last.
  void charge(PhaseCosts& costs) {
    for (std::size_t m = 1; m < used_; ++m)
      if (phases_[m] < phase_count) costs.seconds[phases_[m]] += marks_[m].seconds_since(marks_[m - 1]);
    clear();
  }

 private:
  void set(std::size_t phase) {
    if constexpr (host_reaches_arrays) return;  // what was launched has run: PhaseClock looks at the time itself
    if (used_ == marks_.size()) marks_.emplace_back(), phases_.emplace_back();
    marks_[used_].set(Execution());
    phases_[used_++] = phase;
  }

  std::vector<kernels::Mark<Execution>> marks_;  ///< more than `used_`: a step like one before makes none
  std::vector<std::size_t> phases_;
  std::size_t used_ = 0;
};

/// Charges the time between two calls to the phase that ends, less what other tasks of the progress thread computed
/// meanwhile, and enters the next, the last of which is `last`. On a device it leaves the time to marks.
class PhaseClock {
 public:
  PhaseClock(PhaseCosts& costs, PhaseMarks& marks, const comm::ProgressThread& progress, Phase first, Phase last)
      : costs_(costs), marks_(marks), progress_(progress), last_(last), since_(progress.now()) {
    begin(index_of(first));
  }

  void end(Phase phase) {
    if constexpr (host_reaches_arrays) {
      const double now = progress_.now();
      costs_.seconds[index_of(phase)] += now - since_;
      since_ = now;
    } else {
      marks_.end(phase);
    }
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
  PhaseMarks& marks_;
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
