// SPDX-License-Identifier: Apache-2.0
#include "workloads/sharded_tables.hpp"

#include "kernels/fill_rows.hpp"

namespace shardmark {
namespace {

kernels::ShardRows shard_rows(const LocalShard& shard) {
  return {.table = shard.table,
          .begin = shard.rows.begin,
          .stride = shard.rows.stride,
          .count = shard.rows.count(),
          .column_begin = shard.column_begin,
          .dim = shard.dim()};
}

/// Rows `numbers` of an array [rows, width], on the host.
std::vector<float> gather(const float* rows, std::int64_t width, const std::vector<std::int64_t>& numbers) {
  const Execution exec;
  const auto wanted = kernels::array_of(exec, numbers, "shardmark::wanted_rows");
  const DeviceArray<float> gathered("shardmark::gathered_rows", numbers.size() * static_cast<std::size_t>(width));
  Kokkos::parallel_for(
      "shardmark::gather_rows", kernels::static_range(exec, std::ssize(numbers)), KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::int64_t c = 0; c < width; ++c) gathered(i * width + c) = rows[wanted(i) * width + c];
      });
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), gathered);
  return {host.data(), host.data() + host.extent(0)};
}

/// Shards begin at multiples of a cache line.
std::int64_t align(std::int64_t floats) { return (floats + 15) / 16 * 16; }

}  // namespace

ShardedTables::ShardedTables(const Plan& plan, const std::vector<Table>& tables, const std::vector<Feature>& features,
                             int rank)
    : tables_(tables), features_(features), layout_(plan, tables, features, rank) {
  std::int64_t values = 0, state = 0;
  for (const LocalShard& shard : layout_.shards) {
    value_begin_.push_back(values);
    state_begin_.push_back(state);
    values += align(shard.rows.count() * shard.dim());
    state += align(shard.rows.count() * state_size(shard));
  }
  values_ = DeviceArray<float>(Kokkos::view_alloc("shardmark::tables", Kokkos::WithoutInitializing), values);
  state_ = DeviceArray<float>(Kokkos::view_alloc("shardmark::state", Kokkos::WithoutInitializing), state);
}

std::int64_t ShardedTables::state_size(const LocalShard& shard) const {
  return state_per_row(tables_[static_cast<std::size_t>(shard.table)].optimizer.kind, shard.dim());
}

void ShardedTables::fill(const RowValues& initial) {
  const Execution exec;
  for (std::int64_t s = 0; s < std::ssize(layout_.shards); ++s) {
    const LocalShard& shard = layout_.shards[static_cast<std::size_t>(s)];
    kernels::fill_rows(exec, initial, shard_rows(shard), rows(s));
    const auto begin = static_cast<std::size_t>(state_begin_[static_cast<std::size_t>(s)]);
    const auto size = static_cast<std::size_t>(shard.rows.count() * state_size(shard));
    Kokkos::deep_copy(exec, Kokkos::subview(state_, std::pair(begin, begin + size)),
                      tables_[static_cast<std::size_t>(shard.table)].optimizer.initial_accumulator);
  }
  exec.fence("shardmark: tables are filled");
}

std::vector<float> ShardedTables::read_rows(std::int64_t shard, const std::vector<std::int64_t>& local_rows) const {
  return gather(rows(shard), layout_.shards[static_cast<std::size_t>(shard)].dim(), local_rows);
}

std::vector<float> ShardedTables::read_state(std::int64_t shard, const std::vector<std::int64_t>& local_rows) const {
  return gather(state(shard), state_size(layout_.shards[static_cast<std::size_t>(shard)]), local_rows);
}

std::int64_t ShardedTables::changed_rows(std::int64_t shard, const RowValues& initial) const {
  const float* values = rows(shard);
  return kernels::count_changed_rows(Execution(), initial, shard_rows(layout_.shards[static_cast<std::size_t>(shard)]),
                                     values);
}

}  // namespace shardmark
