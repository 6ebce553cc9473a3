// SPDX-License-Identifier: Apache-2.0
#include "comm/waiting.hpp"

#include <chrono>
#include <thread>

namespace shardmark {
namespace {

thread_local Waiting waiting_of_thread = Waiting::poll;
constexpr auto nap = std::chrono::microseconds(50);

}  // namespace

void set_waiting(Waiting waiting) { waiting_of_thread = waiting; }
Waiting waiting() { return waiting_of_thread; }

void wait_a_moment() {
  if (waiting() == Waiting::poll)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(nap);
}

int wait_all(std::span<MPI_Request> requests, MPI_Status* statuses) {
  const int count = static_cast<int>(requests.size());
  if (waiting() == Waiting::poll) return MPI_Waitall(count, requests.data(), statuses);
  for (;;) {
    int done = 0;
    const int code = MPI_Testall(count, requests.data(), &done, statuses);
    if (done != 0 || code != MPI_SUCCESS) return code;
    std::this_thread::sleep_for(nap);
  }
}

}  // namespace shardmark
