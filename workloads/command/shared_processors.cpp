// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/shared_processors.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "comm/collectives.hpp"
#include "comm/waiting.hpp"
#include "reference/number.hpp"

namespace shardmark::workloads {
namespace {

constexpr char started_again[] = "SHARDMARK_SHARED_PROCESSORS";

long number_of(const char* text) { return text == nullptr ? 0 : number_in<int>(text).value_or(0); }

/// Of --threads, else of OMP_NUM_THREADS; 0 where neither says.
long threads_asked(std::span<char*> arguments) {
  constexpr std::string_view option = "--threads";
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == option && i + 1 < arguments.size()) return number_of(arguments[i + 1]);
    if (argument.starts_with("--threads=")) return number_of(arguments[i] + option.size() + 1);
  }
  return number_of(std::getenv("OMP_NUM_THREADS"));
}

/// As the launcher says before MPI starts.
long ranks_of_node() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
    if (const char* ranks = std::getenv(name)) return std::max(1L, number_of(ranks));
  return 1;
}

long own_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
}

}  // namespace

void wait_passively_where_processors_are_shared(std::span<char*> arguments) {
  const long threads = threads_asked(arguments);
  if (threads < 2 || std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv(started_again) != nullptr) return;
  if (!share_processors(threads, ranks_of_node(), own_processors(), sysconf(_SC_NPROCESSORS_ONLN))) return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  setenv(started_again, "1", 1);
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) execv(program.c_str(), arguments.data());  // returns only where it cannot: threads then wait as they are
}

void sleep_where_processors_are_shared(const comm::Communicator& world) {
  if (comm::all_reduce(world, std::getenv(started_again) != nullptr ? 1 : 0, comm::Reduce::max) > 0)
    comm::set_waiting(comm::Waiting::sleep);
}

}  // namespace shardmark::workloads
