// SPDX-License-Identifier: Apache-2.0
#include "workloads/memory.hpp"

#include <fmt/format.h>

#include <fstream>
#include <limits>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "workloads/step_input.hpp"

namespace shardmark {

std::int64_t memory_needed(const Plan& plan, const RunOptions& options, int rank) {
  const auto& tables = options.workload.tables;
  std::int64_t bytes = loads_of(plan, tables)[static_cast<std::size_t>(rank)].bytes();
  for (std::size_t t = 0; t < tables.size(); ++t)
    if (plan.tables[t].data_parallel) bytes += 4 * tables[t].rows * tables[t].dim;  // dense gradient

  const std::int64_t samples = samples_of(options.workload.global_batch, plan.ranks, rank).count;
  std::int64_t own_elements = 0, own_ids = 0, owned_elements = 0, owned_ids = 0;
  for (const Feature& feature : options.workload.features) {
    const auto t = static_cast<std::size_t>(feature.table);
    const std::int64_t vectors = feature.pooling == Pooling::none ? feature.hotness : 1;
    own_elements += samples * vectors * tables[t].dim;
    own_ids += samples * feature.hotness;
    for (const Shard& shard : plan.tables[t].shards) {
      if (shard.rank != rank) continue;
      owned_elements += options.workload.global_batch * vectors * shard.columns();
      owned_ids += options.workload.global_batch * feature.hotness * shard.rows.count() / tables[t].rows;
    }
  }
  const std::int64_t batches = std::max(options.batches, options.checked_steps);
  bytes += batches * (4 * own_elements + 16 * own_ids);                 // inputs
  bytes += 4 * 2 * (own_elements + owned_elements) + 4 * own_elements;  // vectors and gradients, both ends
  bytes += 12 * own_ids + 80 * (owned_ids + own_ids);                   // ids sent; ids, keys and their sort
  bytes += options.checked_steps * 8 * own_elements;                    // expected outputs and bounds
  return bytes;
}

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

void require_memory(const Communicator& comm, const Plan& plan, const RunOptions& options) {
  const std::int64_t needed = memory_needed(plan, options, comm.rank());
  const auto all = all_gather(comm, needed);
  std::int64_t node = 0;
  for (int r = 0; r < comm.size(); ++r)
    if (comm.node_of(r) == comm.node_of(comm.rank())) node += all[static_cast<std::size_t>(r)];
  agree(comm, [&] {
    const std::int64_t available = memory_available();
    constexpr double gigabyte = 1e9;
    if (node > available)
      throw InputError(
          fmt::format("plan {} needs {:.1f} GB of memory on this rank and {:.1f} GB on its node, which has {:.1f} GB "
                      "left; use more "
                      "nodes, another plan, or --scale and --batch to make the case smaller",
                      plan.name, static_cast<double>(needed) / gigabyte, static_cast<double>(node) / gigabyte,
                      static_cast<double>(available) / gigabyte));
  });
}

}  // namespace shardmark
