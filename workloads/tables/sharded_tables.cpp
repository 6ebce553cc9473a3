// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/sharded_tables.hpp"

#include "kernels/fill_rows.hpp"
#include "kernels/huge_pages.hpp"

namespace shardmark {
namespace {

kernels::ShardRows shard_rows(const LocalShard& shard, const Table& table) {
  return {.table = shard.table,
          .begin = shard.rows.begin,
          .stride = shard.rows.stride,
          .count = shard.rows.count(),
          .column_begin = shard.column_begin,
          .dim = shard.dim(),
          .full_dim = table.dim,
          .value_type = table.value_type};
}

std::vector<float> on_host(const DeviceArray<float>& values) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
  return {host.data(), host.data() + host.extent(0)};
}

/// Shards begin with the first of a pair of cache lines. size, pair: in the same unit.
std::int64_t align(std::int64_t size, std::int64_t pair) { return (size + pair - 1) / pair * pair; }

}  // namespace

ShardedTables::ShardedTables(const Plan& plan, const std::vector<Table>& tables, const std::vector<Feature>& features,
                             int rank)
    : tables_(tables), features_(features), layout_(plan, tables, features, rank) {
  std::int64_t values = 0, state = 0;
  for (const LocalShard& shard : layout_.shards) {
    value_begin_.push_back(values);
    state_begin_.push_back(state);
    values += align(shard.rows.count() * row_bytes(table_of(shard).value_type, shard.dim()), kernels::line_pair);
    state += align(shard.rows.count() * state_size(shard), kernels::line_pair / 4);
  }
  values_ = kernels::allocate<Execution, std::byte>("shardmark::tables", values);
  state_ = kernels::allocate<Execution, float>("shardmark::state", state);
}

kernels::UpdateShard ShardedTables::update_shard(std::int64_t shard, std::int64_t first_key) const {
  const LocalShard& local = layout_.shards[shard];
  const Table& table = table_of(local);
  return {.rows = rows(shard),
          .state = state(shard),
          .first_key = first_key,
          .dim = local.dim(),
          .full_dim = table.dim,
          .optimizer = table.optimizer,
          .value_type = table.value_type,
          .stochastic_rounding = table.stochastic_rounding,
          .table = local.table,
          .row_begin = local.rows.begin,
          .row_stride = local.rows.stride,
          .column_begin = local.column_begin};
}

std::int64_t ShardedTables::state_size(const LocalShard& shard) const {
  return state_per_row(table_of(shard).optimizer.kind, shard.dim());
}

void ShardedTables::fill(const RowValues& initial) {
  const Execution exec;
  step_ = {.number = 0, .seed = initial.seed};
  for (std::int64_t s = 0; s < std::ssize(layout_.shards); ++s) {
    const LocalShard& shard = layout_.shards[s];
    kernels::fill_rows(exec, initial, shard_rows(shard, table_of(shard)), rows(s));
    const Optimizer optimizer = table_of(shard).optimizer;
    const std::int64_t dim = shard.dim(), size = state_size(shard);
    float* const state = this->state(s);
    Kokkos::parallel_for(
        "shardmark::fill_state", kernels::static_range(exec, shard.rows.count()), KOKKOS_LAMBDA(const std::int64_t i) {
          for (std::int64_t k = 0; k < size; ++k) state[i * size + k] = initial_state(optimizer, dim, k);
        });
  }
  exec.fence("shardmark: tables are filled");
}

std::vector<float> ShardedTables::read_rows(std::int64_t shard, const std::vector<std::int64_t>& local_rows) const {
  const Execution exec;
  const LocalShard& local = layout_.shards[shard];
  const DeviceArray<float> values("shardmark::read_rows", local_rows.size() * static_cast<std::size_t>(local.dim()));
  kernels::read_rows(exec, shard_rows(local, table_of(local)), rows(shard),
                     kernels::array_of(exec, local_rows, "shardmark::wanted_rows"), values);
  return on_host(values);
}

std::vector<float> ShardedTables::read_state(std::int64_t shard, const std::vector<std::int64_t>& local_rows) const {
  const Execution exec;
  const std::int64_t size = state_size(layout_.shards[shard]);
  const float* const state = this->state(shard);
  const auto wanted = kernels::array_of(exec, local_rows, "shardmark::wanted_rows");
  const DeviceArray<float> gathered("shardmark::read_state", local_rows.size() * static_cast<std::size_t>(size));
  Kokkos::parallel_for(
      "shardmark::read_state", kernels::static_range(exec, std::ssize(local_rows)),
      KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::int64_t k = 0; k < size; ++k) gathered(i * size + k) = state[wanted(i) * size + k];
      });
  return on_host(gathered);
}

std::int64_t ShardedTables::changed_rows(std::int64_t shard, const RowValues& initial) const {
  const LocalShard& local = layout_.shards[shard];
  return kernels::count_changed_rows(Execution(), initial, shard_rows(local, table_of(local)), rows(shard));
}

double ShardedTables::huge_page_share() const {
  return kernels::huge_page_share(values_.data(), static_cast<std::int64_t>(values_.extent(0)));
}

}  // namespace shardmark
