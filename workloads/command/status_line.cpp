// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/status_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "workloads/step/watchdog.hpp"

namespace shardmark {

Status status_line(const Communicator& world) {
  if (world.rank() != 0) return [](const std::string& text) { enter(text); };
  if (isatty(STDERR_FILENO))
    return [](const std::string& text) {
      enter(text);
      fmt::print(stderr, "\r\033[K{}\r", text);
      std::fflush(stderr);
    };
  return [last = -10.0](const std::string& text) mutable {
    enter(text);
    if (text.empty() || MPI_Wtime() - last < 10.0) return;
    last = MPI_Wtime();
    fmt::print(stderr, "shardmark: {}\n", text);
  };
}

}  // namespace shardmark
