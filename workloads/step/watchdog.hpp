// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "comm/communicator.hpp"
#include "comm/waiting.hpp"

namespace shardmark::workloads {

inline constexpr int exit_stuck = 124;  ///< of a process that its watchdog ended, as of timeout(1)

inline constexpr std::string_view watchdog_help =
    "seconds after which a phase that does not end ends the job: every rank says where it is, exit code 124; 0: never";

/// Records what this rank does from now on, "lookup", for the watchdog; it is cheap, and may be called from any thread.
void enter(std::string_view phase);

/// Returns how often enter() has been called: what takes long and enters nothing meanwhile is held for stuck.
std::int64_t phases_entered();

/// Is a thread that ends this process when it has entered no phase for `seconds` (0: never): because this rank or one
/// that it waits for has stopped. Every rank has its own, none uses MPI: each prints a line "rank N (host): lookup
/// since S s" on stderr, leaves the others a moment to print theirs, and exits with exit_stuck; the launcher ends what
/// is left.
class Watchdog {
 public:
  Watchdog(const comm::Communicator& comm, double seconds);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

 private:
  void watch();

  std::string place_;
  double seconds_;
  bool stop_ = false;
  std::mutex mutex_;
  std::condition_variable stopped_;
  std::thread thread_;
};

/// Returns how threads that are not those of the steps wait in MPI: they poll where every rank has more cores than
/// compute threads, else they leave their cores to these, by messages where others may wait in MPI too
/// (MPI_THREAD_MULTIPLE). Collective; the same on every rank.
comm::Waiting waiting_beside_compute(const comm::Communicator& comm);

}  // namespace shardmark::workloads
