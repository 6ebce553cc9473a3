// SPDX-License-Identifier: Apache-2.0
#include "workloads/memory.hpp"

#include <fmt/format.h>

#include <fstream>
#include <limits>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "workloads/step_input.hpp"

namespace shardmark {

double memory_needed(const Plan& plan, const RunOptions& options, int rank) {
  const auto& tables = options.workload.tables;
  const auto samples = static_cast<double>(samples_of(options.workload.global_batch, plan.ranks, rank).count);
  const auto global_batch = static_cast<double>(options.workload.global_batch);
  const auto cells = [](std::int64_t rows, std::int64_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns);
  };
  const auto held = [&](const Table& table, std::int64_t rows, std::int64_t columns) {
    return cells(rows, row_bytes(table.value_type, columns)) +
           4.0 * cells(rows, state_per_row(table.optimizer.kind, columns));
  };

  double bytes = 0.0;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (plan.tables[t].data_parallel)  // and its dense gradient, with a count per row
      bytes += held(tables[t], tables[t].rows, tables[t].dim) + 4.0 * cells(tables[t].rows, tables[t].dim + 1);
    for (const Shard& shard : plan.tables[t].shards)
      if (shard.rank == rank) bytes += held(tables[t], shard.rows.count(), shard.columns());
  }
  double own_elements = 0.0, own_ids = 0.0, owned_elements = 0.0, owned_ids = 0.0;
  for (const Feature& feature : options.workload.features) {
    const Table& table = tables[static_cast<std::size_t>(feature.table)];
    const auto hotness = static_cast<double>(feature.hotness);
    const double vectors = feature.pooling == Pooling::none ? hotness : 1.0;
    own_elements += samples * vectors * static_cast<double>(table.dim);
    own_ids += samples * hotness;
    for (const Shard& shard : plan.tables[static_cast<std::size_t>(feature.table)].shards) {
      if (shard.rank != rank) continue;
      owned_elements += global_batch * vectors * static_cast<double>(shard.columns());
      owned_ids += global_batch * hotness * static_cast<double>(shard.rows.count()) / static_cast<double>(table.rows);
    }
  }
  const auto batches = static_cast<double>(std::max(options.batches, options.checked_steps));
  bytes += batches * (4 * own_elements + 16 * own_ids);                      // inputs
  bytes += 4 * 2 * (own_elements + owned_elements) + 4 * own_elements;       // vectors and gradients, both ends
  bytes += 12 * own_ids + 4 * owned_ids + 80 * (owned_ids + own_ids);        // ids on the wire; ids, keys, their sort
  bytes += static_cast<double>(options.checked_steps) * 8.0 * own_elements;  // expected outputs and bounds
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
  const double needed = memory_needed(plan, options, comm.rank());
  const auto all = all_gather(comm, needed);
  double node = 0.0;
  for (int r = 0; r < comm.size(); ++r)
    if (comm.node_of(r) == comm.node_of(comm.rank())) node += all[static_cast<std::size_t>(r)];
  agree(comm, [&] {
    const auto available = static_cast<double>(memory_available());
    constexpr double gigabyte = 1e9;
    if (node > available)
      throw InputError(
          fmt::format("plan {} needs {:.1f} GB of memory on this rank and {:.1f} GB on its node, which has {:.1f} GB "
                      "left; use more "
                      "nodes, another plan, or --scale and --batch to make the case smaller",
                      plan.name, needed / gigabyte, node / gigabyte, available / gigabyte));
  });
}

}  // namespace shardmark
