// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/calibrate/fingerprint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <set>

#include "comm/affinity.hpp"
#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "datasets/value_table.hpp"
#include "results/build_info.hpp"
#include "results/machine.hpp"
#include "workloads/batches/compute_threads.hpp"

namespace shardmark::workloads {
namespace {

std::string host_in_words() {
  const auto machine = results::describe_machine();
  const auto text = [&](const char* key) { return machine.at(key).is_null() ? "?" : machine.at(key).dump(); };
  return fmt::format("{} of {} cores, last-level caches {} KiB", text("cpu"), text("cores"),
                     comm::last_level_cache_bytes() / 1024);
}

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string version(text.data());
  return version.substr(0, version.find(','));
}

std::string digits_of(const std::string& words) {
  datasets::Checksum checksum;
  checksum.add(words.data(), words.size());
  return checksum.text();
}

}  // namespace

Fingerprint fingerprint_of(const comm::Communicator& world) {
  const auto hosts = comm::all_gather(world, comm::agree(world, host_in_words));
  const auto node_sizes = comm::all_gather(world, world.node_size());
  const std::set<std::string> different(hosts.begin(), hosts.end());
  const std::set<int> sizes(node_sizes.begin(), node_sizes.end());
  const std::string words = fmt::format(
      "{}; {} ranks per node, {}; {} threads per rank; {}; shardmark {} by {} {}", fmt::join(different, " and "),
      fmt::join(sizes, " or "), world.nodes() > 1 ? "several nodes" : "one node",
      comm::all_reduce(world, compute_thread_count(), comm::Reduce::max), mpi_version(), results::build_info().version,
      results::build_info().compiler, results::build_info().flags);
  return {words, digits_of(words)};
}

}  // namespace shardmark::workloads
