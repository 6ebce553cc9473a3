// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/watchdog.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "comm/affinity.hpp"
#include "comm/collectives.hpp"
#include "comm/session.hpp"
#include "workloads/batches/compute_threads.hpp"

namespace shardmark::workloads {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto time_for_others = std::chrono::seconds(2);

struct Note {
  std::mutex mutex;
  std::string phase = "start";
  Clock::time_point since = Clock::now();
  std::int64_t entered = 0;
};

Note& note() {
  static Note the_note;
  return the_note;
}

}  // namespace

void enter(std::string_view phase) {
  const std::lock_guard lock(note().mutex);
  note().phase = phase;
  note().since = Clock::now();
  ++note().entered;
}

std::int64_t phases_entered() {
  const std::lock_guard lock(note().mutex);
  return note().entered;
}

Watchdog::Watchdog(const comm::Communicator& comm, double seconds)
    : place_(fmt::format("rank {} ({})", comm.rank(), comm.host_of(comm.rank()))), seconds_(seconds) {
  enter("start");
  if (seconds > 0.0) thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_one();
  thread_.join();
}

void Watchdog::watch() {
  const std::chrono::duration<double> interval(std::clamp(seconds_ / 20, 0.01, 1.0));
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, interval, [this] { return stop_; })) {
    std::string line;
    {
      const std::lock_guard note_lock(note().mutex);
      const std::chrono::duration<double> spent = Clock::now() - note().since;
      if (spent.count() < seconds_) continue;
      line = fmt::format("shardmark: {}: {} since {:.1f} s; stuck (--watchdog {:g})\n", place_, note().phase,
                         spent.count(), seconds_);
    }
    [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
    std::this_thread::sleep_for(time_for_others);
    _exit(exit_stuck);
  }
}

comm::Waiting waiting_beside_compute(const comm::Communicator& comm) {
  const bool has_core = comm::threads_for_rank(comm, comm::observed_affinity()) > compute_thread_count();
  const bool alone = comm::mpi_threads_given() != comm::MpiThreads::several;
  return comm::common_waiting(comm, has_core ? comm::Waiting::poll
                                    : alone  ? comm::Waiting::sleep
                                             : comm::Waiting::messages);
}

}  // namespace shardmark::workloads
