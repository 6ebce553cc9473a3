// SPDX-License-Identifier: Apache-2.0
#include "comm/waiting.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace shardmark::comm {
namespace {

constexpr auto nap = std::chrono::microseconds(50);

std::atomic<bool> held = false;
std::atomic<int> waiting_now = 0;  ///< threads
std::atomic<int> looking = 0;      ///< those of them that look whether what they wait for is there, or wait in MPI
constexpr auto longest_look = std::chrono::milliseconds(100);

class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(count) { ++count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count_; }

 private:
  std::atomic<int>& count_;
};

/// Guards one test of a thread that may be held, or its wait in MPI.
class Look {
 public:
  Look() {
    ++looking;
    if (!held) return;
    --looking;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;
  ~Look() { --looking; }
};

}  // namespace

bool hold_waiting_threads() {
  held = true;
  std::this_thread::sleep_for(20 * nap);  // those between two looks come to the next one
  const auto end = std::chrono::steady_clock::now() + longest_look;
  while (looking > 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return waiting_now == 0;
}

void wait_a_moment() {
  if (waiting() == Waiting::poll) return std::this_thread::yield();
  const Counted waits(waiting_now);
  const Look look;
  std::this_thread::sleep_for(nap);
}

int wait_all(std::span<MPI_Request> requests, MPI_Status* statuses) {
  const Counted waits(waiting_now);
  const int count = static_cast<int>(requests.size());
  if (waiting() == Waiting::poll) {
    const Look look;
    return MPI_Waitall(count, requests.data(), statuses);
  }
  for (;;) {
    int done = 0;
    const int code = [&] {
      const Look look;
      return MPI_Testall(count, requests.data(), &done, statuses);
    }();
    if (done != 0 || code != MPI_SUCCESS) return code;
    std::this_thread::sleep_for(nap);
  }
}

}  // namespace shardmark::comm
