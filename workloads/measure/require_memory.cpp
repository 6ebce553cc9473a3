// SPDX-License-Identifier: Apache-2.0
// What a node has, against what is needed of it.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "workloads/measure/memory.hpp"

namespace shardmark {
namespace {

std::int64_t read_number(const std::string& file, std::int64_t otherwise) {
  std::int64_t value = otherwise;
  std::ifstream(file) >> value;
  return value > 0 ? value : otherwise;
}

}  // namespace

std::int64_t memory_available() {
  std::int64_t available = std::numeric_limits<std::int64_t>::max();
  std::ifstream meminfo("/proc/meminfo");
  for (std::string key; meminfo >> key;) {
    std::int64_t kibibytes = 0;
    if (key == "MemAvailable:" && meminfo >> kibibytes) available = 1024 * kibibytes;
  }
  const std::int64_t limit = read_number("/sys/fs/cgroup/memory.max", std::numeric_limits<std::int64_t>::max());
  const std::int64_t used = read_number("/sys/fs/cgroup/memory.current", 0);
  return std::min(available, limit - std::min(used, limit));
}

void require_memory(const Communicator& comm, double bytes_per_rank, std::string_view command,
                    std::string_view remedy) {
  agree(comm, [&] {
    const double needed = bytes_per_rank * comm.node_size();
    const auto available = static_cast<double>(memory_available());
    if (needed > available)
      throw InputError(fmt::format("{}: {} ranks of a node need {:.1f} GB, it has {:.1f}; use {}", command,
                                   comm.node_size(), needed * 1e-9, available * 1e-9, remedy));
  });
}

void require_memory(const Communicator& comm, const Plan& plan, const RunOptions& options,
                    std::span<const Case> cases) {
  const double needed = memory_needed(comm, plan, options, cases);
  const auto all = all_gather(comm, needed);
  double node = 0.0;
  for (int r = 0; r < comm.size(); ++r)
    if (comm.node_of(r) == comm.node_of(comm.rank())) node += all[r];
  agree(comm, [&] {
    const auto available = static_cast<double>(memory_available());
    if (node > available)
      throw InputError(
          fmt::format("plan {} needs {:.1f} GB of memory on this rank and {:.1f} GB on its node, which has {:.1f} GB "
                      "left; use more nodes, another plan, or --scale and --batch to make the case smaller",
                      plan.name, needed * 1e-9, node * 1e-9, available * 1e-9));
  });
}

}  // namespace shardmark
