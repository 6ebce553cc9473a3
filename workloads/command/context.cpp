// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/context.hpp"

#include <fmt/format.h>
#include <hdf5.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>

#include "comm/collectives.hpp"
#include "workloads/batches/compute_threads.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

Json libraries() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> mpi{};
  int length = 0;
  MPI_Get_library_version(mpi.data(), &length);
  const std::string version(mpi.data());
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return {{"mpi", version.substr(0, version.find(','))},
          {"kokkos", kokkos_version()},
          {"kokkos_configuration", kokkos_configuration()},
          {"hdf5", fmt::format("{}.{}.{}", major, minor, release)}};
}

/// Where every rank may run, as it is now.
Json observed_ranks(const comm::Communicator& world, const comm::Affinity& affinity) {
  const auto units = comm::all_gather(world, affinity.processing_units);
  const auto threads = comm::all_gather(world, compute_thread_count());
  Json ranks = Json::array();
  for (int r = 0; r < world.size(); ++r)
    ranks.push_back({{"rank", r},
                     {"host", world.host_of(r)},
                     {"node", world.node_of(r)},
                     {"cpus", units[r]},
                     {"threads", threads[r]}});
  return ranks;
}

/// argv, from the kernel: the command is far from main here.
std::vector<std::string> command_line() {
  std::vector<std::string> arguments;
  std::ifstream file("/proc/self/cmdline");
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

}  // namespace

Status status_line(const comm::Communicator& world) {
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

results::RunContext run_context(const comm::Communicator& world, const comm::Affinity& affinity, std::uint64_t seed) {
  return {
      .arguments = command_line(), .seed = seed, .ranks = observed_ranks(world, affinity), .libraries = libraries()};
}

}  // namespace shardmark::workloads
