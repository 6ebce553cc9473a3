// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/placement/expected_counts.hpp"
#include "workloads/batches/step_input.hpp"
#include "workloads/tables/storages.hpp"

namespace shardmark {

namespace {

double cells(std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(rows) * static_cast<double>(columns);
}

/// Rows and state; of replicated tables also a dense gradient, with a count per row.
double table_bytes(const Plan& plan, const std::vector<Table>& tables, int rank) {
  double bytes = 0.0;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (plan.tables[t].data_parallel)
      bytes += storage_bytes(tables[t], tables[t].rows, tables[t].dim) + 4.0 * cells(tables[t].rows, tables[t].dim + 1);
    for (const Shard& shard : plan.tables[t].shards)
      if (shard.rank == rank) bytes += storage_bytes(tables[t], shard.rows.count(), shard.columns());
  }
  return bytes;
}

IdStatistics statistics_of(const IdSpec& ids) {
  return {.alpha = ids.distribution == IdDistribution::power_law ? ids.alpha : 0.0,
          .scattered = ids.shuffled,
          .ragged = ids.ragged};
}

/// Ids of some samples that look up rows of the table.
double ids_of(const Workload& workload, std::int64_t table, double samples) {
  double ids = 0.0;
  for (const Feature& feature : workload.features)
    if (feature.table == table) ids += samples * static_cast<double>(feature.hotness);
  return ids;
}

/// Buffers for the rows of one shard that travel one by one: at the rank that asks for them, and at the one that holds
/// them. `own`: what the samples of a rank look up in the shard; all: those of all ranks.
double asker_bytes(const Movement& movement, const Shard& shard, const ShardCounts& own) {
  const double asked = asks_once(movement.dedup) ? own.distinct_rows : own.ids;
  const double vector = 4.0 * static_cast<double>(shard.columns());
  double bytes = 72 * own.ids;         // keys, their sort, indices, weights, offsets
  bytes += asked * (16 + 3 * vector);  // rows as they come and by group; gradients
  if (movement.wire != WireTypes{}) bytes += asked * 2 * vector;
  if (movement.dedup == Dedup::node || movement.dedup == Dedup::automatic)  // for its node
    bytes += asked * (80 + 4 * vector);
  return bytes;
}

double holder_bytes(const Movement& movement, const Shard& shard, const ShardCounts& own, const ShardCounts& all,
                    int ranks) {
  const double vector = 4.0 * static_cast<double>(shard.columns());
  const double held = asks_once(movement.dedup) ? ranks * own.distinct_rows : all.ids;
  double bytes = held * (80 + 2 * vector);  // ids, keys and their sort; rows and gradients
  if (movement.wire != WireTypes{}) bytes += held * 2 * vector;
  if (reads_once(movement.dedup)) bytes += held * 64 + all.distinct_rows * (16 + vector);
  return bytes;
}

/// Of a gradient for each id where features pool by max.
double max_vector(const Workload& workload) {
  std::int64_t dim = 0;
  for (const Feature& feature : workload.features)
    if (feature.pooling == Pooling::max) dim = std::max(dim, workload.tables[feature.table].dim);
  return 4.0 * static_cast<double>(dim);
}

/// What the samples of this rank, and those of all ranks, are expected to look up in each shard.
struct StepCounts {
  double samples = 0.0;
  PlanCounts own, all;
};

/// Buffers of a step.
double step_bytes(const Plan& plan, const Workload& workload, const Movement& movement, int rank,
                  const StepCounts& counts) {
  if (movement.transfer == RowTransfer::automatic) {
    Movement rows = movement, pooled = movement;
    rows.transfer = RowTransfer::unique_rows;
    pooled.transfer = RowTransfer::dense_partials;
    return std::max(step_bytes(plan, workload, rows, rank, counts), step_bytes(plan, workload, pooled, rank, counts));
  }
  const double of_max = max_vector(workload);
  double bytes = 0.0;
  for (std::int64_t t = 0; t < std::ssize(workload.tables); ++t) {
    const Table& table = workload.tables[t];
    bytes += 3 * 4 * counts.own[t].front().bags * static_cast<double>(table.dim);  // outputs and their gradients
    bytes += ids_of(workload, t, counts.samples) * (92 + of_max);                  // ids, keys and their sort
    for (std::int64_t s = 0; s < std::ssize(plan.tables[t].shards); ++s) {
      const Shard& shard = plan.tables[t].shards[s];
      const ShardCounts &own = counts.own[t][s], &all = counts.all[t][s];
      const bool split = shard.rows.count() < table.rows;
      const bool by_rows = split && movement.transfer == RowTransfer::unique_rows;
      const double vector = 2 * 4 * static_cast<double>(shard.columns());  // and its gradient
      if (by_rows) bytes += asker_bytes(movement, shard, own);
      if (split && !by_rows) bytes += own.bags * vector;  // parts, before they are added up
      if (shard.rank != rank) continue;
      if (by_rows) bytes += holder_bytes(movement, shard, own, all, plan.ranks);
      if (!by_rows) bytes += all.bags * vector + all.ids * (80 + of_max);
    }
  }
  constexpr double room_to_grow = 1.125;  // kernels::Scratch
  return room_to_grow * bytes;
}

}  // namespace

double memory_needed(const Plan& plan, const RunOptions& options, std::span<const Movement> movements, int rank) {
  const Workload& workload = options.workload;
  const auto counts_of = [&](std::int64_t samples) {
    return expected_counts(plan, workload.tables, workload.features, samples, statistics_of(workload.ids));
  };
  const std::int64_t samples = samples_of(workload.global_batch, plan.ranks, rank).count;
  const StepCounts counts{static_cast<double>(samples), counts_of(samples), counts_of(workload.global_batch)};
  double bytes = 0.0;
  for (const Movement& movement : movements)
    bytes = std::max(bytes, step_bytes(plan, workload, movement, rank, counts));
  bytes += table_bytes(plan, workload.tables, rank);
  double elements = 0.0, ids = 0.0;
  for (std::int64_t t = 0; t < std::ssize(workload.tables); ++t) {
    elements += counts.own[t].front().bags * static_cast<double>(workload.tables[t].dim);
    ids += ids_of(workload, t, counts.samples);
  }
  const auto batches = static_cast<double>(std::max(options.batches, options.checked_steps));
  bytes += batches * (4 * elements + 16 * ids);                          // inputs
  bytes += static_cast<double>(options.checked_steps) * 8.0 * elements;  // expected outputs and bounds
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
                    std::span<const Movement> movements) {
  const double needed = memory_needed(plan, options, movements, comm.rank());
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
