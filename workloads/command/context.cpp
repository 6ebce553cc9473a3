// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/context.hpp"

#include <fmt/format.h>
#include <hdf5.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/device_memory.hpp"
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

/// The GPU of this rank; null where it has none.
Json observed_gpu(const comm::Communicator& world) {
  const auto gpu = comm::describe_gpu(world);
  if (!gpu) return nullptr;
  return {{"name", gpu->name},           {"address", gpu->address}, {"memory_bytes", gpu->memory_bytes},
          {"clock_mhz", gpu->clock_mhz}, {"driver", gpu->driver},   {"toolkit", gpu->toolkit}};
}

/// Where every rank may run, as it is now.
Json observed_ranks(const comm::Communicator& world, const comm::Affinity& affinity) {
  const auto units = comm::all_gather(world, affinity.processing_units);
  const auto threads = comm::all_gather(world, compute_thread_count());
  const auto gpus = comm::all_gather(world, comm::agree(world, [&] { return observed_gpu(world).dump(); }));
  Json ranks = Json::array();
  for (int r = 0; r < world.size(); ++r)
    ranks.push_back({{"rank", r},
                     {"host", world.host_of(r)},
                     {"node", world.node_of(r)},
                     {"cpus", units[r]},
                     {"threads", threads[r]}});
  for (int r = 0; r < world.size(); ++r)
    if (Json gpu = Json::parse(gpus[r]); !gpu.is_null()) ranks[r]["gpu"] = std::move(gpu);
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
