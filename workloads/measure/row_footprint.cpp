// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/row_footprint.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "comm/collectives.hpp"
#include "reference/counter_random.hpp"
#include "reference/storage.hpp"
#include "workloads/tables/storages.hpp"

namespace shardmark::workloads {
namespace {

std::int64_t row_bytes(const Table& table) { return std::llround(storage_bytes(table, 1, table.dim)); }

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
