// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/timed_batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "comm/affinity.hpp"
#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "reference/counter_random.hpp"
#include "reference/storage.hpp"
#include "workloads/tables/storages.hpp"

namespace shardmark::workloads {
namespace {

constexpr double most_bytes = 0x1p30;
constexpr std::int64_t of_small_tables = 4;

/// Returns the bytes of the last-level caches of all hosts together.
double cache_bytes(const comm::Communicator& comm) {
  const auto own = comm::agree(comm, [&] { return comm.node_rank() == 0 ? comm::last_level_cache_bytes() : 0; });
  return static_cast<double>(comm::all_reduce(comm, own, comm::Reduce::sum));
}

double bytes_of(const StepInput& input) {
  return bytes_of_batch(static_cast<double>(input.elements()), static_cast<double>(input.bags.indices.size()));
}

}  // namespace

double table_bytes(const Workload& workload) {
  double bytes = 0.0;
  for (const Table& table : workload.tables) bytes += storage_bytes(table, table.rows, table.dim);
  return bytes;
}

double bytes_of_batch(double elements, double ids) { return (4 + 8) * elements + 24 * ids; }

std::int64_t most_batches(const RunOptions& options, double bytes_of_one) {
  if (options.batches > 0 || bytes_of_one <= 0.0) return options.most_batches();
  const auto held = static_cast<std::int64_t>(most_bytes / bytes_of_one);
  return std::clamp<std::int64_t>(held, std::max<std::int64_t>(1, options.checked_steps), options.most_batches());
}

std::string reason_to_stop(const RunOptions& options, const BatchFacts& facts) {
  if (facts.count < options.checked_steps) return "";
  if (options.batches > 0) return facts.count < options.batches ? "" : "requested";
  if (facts.cache_bytes > 0.0 && facts.row_bytes > facts.cache_bytes) return "rows exceed the last-level cache";
  if (options.steps && facts.count >= *options.steps) return "no more steps are timed";
  if (facts.table_bytes <= facts.cache_bytes && facts.count >= of_small_tables)
    return "tables fit the last-level cache";
  if (facts.count < facts.most) return "";
  return facts.most < options.most_batches() ? "memory" : "no more are made";
}

StepInput read_batch(const comm::Communicator& comm, const RunOptions& options, BatchSource& source, std::int64_t step,
                     std::span<const StepInput> earlier, const std::function<void(const Batch&)>& see) {
  const SampleRange own = samples_of(options.workload.global_batch, comm.size(), comm.rank());
  const datasets::Samples samples = comm::agree(comm, [&] { return source.read(step, own.first, own.count); });
  if (see) see(samples.batch);
  return make_step_input(comm, options.workload, samples, own.first, step, options.gradients(), earlier);
}

TimedBatches read_batches(const comm::Communicator& comm, const RunOptions& options, BatchSource& source,
                          const Status& status) {
  TimedBatches batches;
  RowFootprint rows(options.workload);
  BatchFacts facts{.table_bytes = table_bytes(options.workload), .cache_bytes = cache_bytes(comm)};
  while (batches.reason.empty()) {
    const std::int64_t step = facts.count++;
    status(fmt::format("preparing batch {}", step));
    batches.inputs.push_back(read_batch(comm, options, source, step, batches.inputs, [&](const Batch& batch) {
      if (options.batches == 0) rows.add(batch);
    }));
    if (step == 0)
      facts.most = most_batches(options, comm::all_reduce(comm, bytes_of(batches.inputs.front()), comm::Reduce::max));
    if (options.batches == 0) facts.row_bytes = rows.bytes(comm);
    batches.reason = reason_to_stop(options, facts);
  }
  return batches;
}

namespace {

std::int64_t row_bytes(const Table& table) { return std::llround(placement::stored_bytes(table, 1, table.dim)); }

}  // namespace

void DistinctCount::add(std::uint64_t hash) {
  int& longest = longest_[hash >> (64 - index_bits)];
  longest = std::max(longest, std::countl_zero(hash << index_bits | 1) + 1);
}

double DistinctCount::estimate(const comm::Communicator& comm) const {
  std::vector<int> longest = longest_;
  comm::all_reduce(comm, std::span(longest), comm::Reduce::max);
  const auto registers = static_cast<double>(longest.size());
  double sum = 0.0;
  for (const int each : longest) sum += std::ldexp(1.0, -each);
  const double estimate = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
  const auto empty = static_cast<double>(std::ranges::count(longest, 0));
  return estimate <= 2.5 * registers && empty > 0.0 ? registers * std::log(registers / empty) : estimate;
}

RowFootprint::RowFootprint(const Workload& workload) : workload_(workload) {
  for (const Table& table : workload.tables)
    if (storage_of(table).computes())
      part_bytes_ += storage_bytes(table, table.rows, table.dim);
    else
      counts_[row_bytes(table)];
}

void RowFootprint::add(const Batch& batch) {
  for (std::int64_t f = 0; f < batch.features; ++f) {
    const std::int64_t table = workload_.features[f].table;
    if (storage_of(workload_.tables[table]).computes()) continue;
    DistinctCount& count = counts_.at(row_bytes(workload_.tables[table]));
    for (std::int64_t i = batch.begin_of(f); i < batch.end_of(f); ++i)
      count.add(random_bits(std::uint64_t{0}, table, batch.indices[i]));
  }
}

double RowFootprint::bytes(const comm::Communicator& comm) const {
  double bytes = part_bytes_;
  for (const auto& [size, count] : counts_) bytes += static_cast<double>(size) * count.estimate(comm);
  return bytes;
}

}  // namespace shardmark::workloads
