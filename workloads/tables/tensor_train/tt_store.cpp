// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/tensor_train/tt_store.hpp"

#include "reference/error.hpp"
#include "reference/sort_distinct.hpp"
#include "reference/tensor_train/contraction.hpp"
#include "workloads/tables/tensor_train/tt_lookups.hpp"
#include "workloads/tables/tensor_train/tt_updates.hpp"

namespace shardmark::workloads {
namespace {

class TtStore : public Store {
 public:
  TtStore(const ShardLayout& layout, const std::vector<Table>& tables, const std::vector<std::int64_t>& shards)
      : layout_(layout), cores_(layout, tables, shards) {
    for (const TtTable& tt : cores_.tts())
      if (tt.what.tensor_train.cache.rows > 0) caches_.try_emplace(tt.shard, cores_, tt);
  }

  void fill(const RowValues& initial) override {
    cores_.fill(initial);
    for (auto& [shard, cache] : caches_) cache.clear();
  }

  std::unique_ptr<Lookups> lookups(const std::vector<std::int64_t>& shards) override {
    return std::make_unique<TtLookups>(cores_, caches_, shards);
  }
  std::unique_ptr<Updates> updates(const std::vector<KeyedShard>& shards) override {
    return std::make_unique<TtUpdates>(cores_, caches_, layout_, shards);
  }

  std::vector<ShardPart> parts(std::int64_t s) const override {
    std::vector<ShardPart> parts;
    const TensorTrainShape& shape = tt(s).shape;
    for (int t = 0; t < shape.cores; ++t)
      parts.push_back({placement::RowSet{0, shape.p[t], 1}, 0, shape.slice_elements(t)});
    return parts;
  }
  bool has_parts() const override { return true; }

  ChosenRows read_rows(std::int64_t s, std::int64_t part, const std::vector<std::int64_t>& local_rows) const override {
    return cores_.read(tt(s), static_cast<int>(part), local_rows);
  }
  StoredRows read_range(std::int64_t s, std::int64_t part, std::int64_t first, std::int64_t count) const override {
    return cores_.read_range(tt(s), static_cast<int>(part), first, count);
  }
  void write_range(std::int64_t s, std::int64_t part, std::int64_t first, const StoredRows& stored) override {
    cores_.write_range(tt(s), static_cast<int>(part), first, stored);
    if (const auto cache = caches_.find(s); cache != caches_.end()) cache->second.age();
  }
  std::int64_t changed_rows(std::int64_t s, std::int64_t part, const RowValues& initial) const override {
    return cores_.changed(tt(s), static_cast<int>(part), initial);
  }

  void report(std::span<std::int64_t> numbers) const override {
    for (const auto& [shard, cache] : caches_) cache.report(numbers);
  }

  double huge_page_share() const override { return cores_.huge_page_share(); }

 private:
  const TtTable& tt(std::int64_t s) const { return *cores_.find(s); }

  const ShardLayout& layout_;
  TtCores cores_;
  TtCaches caches_;
};

std::int64_t step_flops(const TensorTrainShape& shape, const std::vector<std::int64_t>& rows) {
  const PrefixCounts prefixes = count_prefixes(shape, rows);
  return forward_flops(shape, prefixes) + backward_flops(shape, prefixes);
}

/// Where the last core comes first, slices are kept mirrored, but stochastic rounding goes by their elements as they
/// are.
bool must_be_prefix(const Table& table) {
  return table.stochastic_rounding && (table.value_type == ValueType::fp16 || table.value_type == ValueType::bf16);
}

}  // namespace

std::unique_ptr<Store> make_tt_store(const ShardLayout& layout, const std::vector<Table>& tables,
                                     const std::vector<std::int64_t>& shards) {
  return std::make_unique<TtStore>(layout, tables, shards);
}

double tt_bytes_beside(const Table& table, std::int64_t /*rows*/, std::int64_t /*columns*/) {
  const Table rows = storage_of(table).cached_rows(table);
  return tt_cache_bytes(table) - placement::stored_bytes(rows, rows.rows, rows.dim);
}

bool tt_direction_is_open(const Table& table) {
  const ContractionDirection direction = table.tensor_train.direction;
  if (direction == ContractionDirection::suffix && must_be_prefix(table))
    throw InputError("table " + table.name +
                     ": a tensor train that is contracted from its last core on keeps its slices transposed and cannot "
                     "round them stochastically; use tt.direction prefix or auto");
  return direction == ContractionDirection::automatic;
}

void set_tt_direction(Table& table, std::int64_t /*number*/, const std::vector<std::int64_t>& rows) {
  table.tensor_train.direction = ContractionDirection::prefix;
  if (must_be_prefix(table)) return;
  const TensorTrainShape shape = tensor_train_shape(table);
  std::vector<std::int64_t> reversed;
  for (const std::int64_t row : rows) reversed.push_back(mirrored_row(shape, row));
  sort_distinct(reversed);
  if (step_flops(mirrored(shape), reversed) < step_flops(shape, rows))
    table.tensor_train.direction = ContractionDirection::suffix;
}

std::int64_t steps_until_tt_is_warm(const Table& table, std::int64_t /*batches*/) {
  return table.tensor_train.cache.rows > 0 ? table.tensor_train.cache.populate_every : 0;
}

PartsDescription describe_cores(const Table& table) {
  const TensorTrainShape shape = tensor_train_shape(table);
  const auto numbers = [](auto begin, int count) { return std::vector<std::int64_t>(begin, begin + count); };
  return {"cores",
          {{"tensor_train",
            {{"row_shape", numbers(shape.p.begin(), shape.cores)},
             {"dim_shape", numbers(shape.q.begin(), shape.cores)},
             {"ranks", numbers(shape.r.begin() + 1, shape.cores - 1)}}}}};
}

}  // namespace shardmark::workloads
