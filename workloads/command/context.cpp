// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/context.hpp"

#include <fmt/format.h>
#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "comm/collectives.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

Json libraries() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> mpi{};
  int length = 0;
  MPI_Get_library_version(mpi.data(), &length);
  const std::string version(mpi.data());
  std::ostringstream kokkos;
  Kokkos::print_configuration(kokkos);
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return {{"mpi", version.substr(0, version.find(','))},
          {"kokkos", fmt::format("{}.{}.{}", KOKKOS_VERSION / 10000, KOKKOS_VERSION / 100 % 100, KOKKOS_VERSION % 100)},
          {"kokkos_configuration", kokkos.str()},
          {"hdf5", fmt::format("{}.{}.{}", major, minor, release)}};
}

/// Where every rank may run, as it is now.
Json observed_ranks(const comm::Communicator& world, const comm::Affinity& affinity) {
  const auto units = comm::all_gather(world, affinity.processing_units);
  const auto threads = comm::all_gather(world, static_cast<std::int64_t>(Execution().concurrency()));
  Json ranks = Json::array();
  for (int r = 0; r < world.size(); ++r)
    ranks.push_back({{"rank", r}, {"host", world.host_of(r)}, {"cpus", units[r]}, {"threads", threads[r]}});
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

Kokkos::InitializationSettings kokkos_settings(const comm::Communicator& world, const comm::Affinity& affinity,
                                               std::int64_t threads) {
  int count = comm::threads_for_rank(world, affinity);
  if (const char* wanted = std::getenv("OMP_NUM_THREADS")) count = std::max(1, std::atoi(wanted));
  if (threads > 0) count = static_cast<int>(threads);
  return Kokkos::InitializationSettings().set_num_threads(count).set_disable_warnings(true);
}

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
