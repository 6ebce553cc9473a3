// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/tt_store.hpp"

#include "workloads/tables/train_lookups.hpp"
#include "workloads/tables/train_updates.hpp"

namespace shardmark::workloads {
namespace {

class TtStore : public Store {
 public:
  TtStore(const ShardLayout& layout, const std::vector<Table>& tables, const std::vector<std::int64_t>& shards)
      : layout_(layout), cores_(layout, tables, shards) {
    for (const KeptTrain& train : cores_.trains())
      if (train.what.tensor_train.cache.rows > 0) caches_.try_emplace(train.shard, cores_, train);
  }

  void fill(const RowValues& initial) override {
    cores_.fill(initial);
    for (auto& [shard, cache] : caches_) cache.clear();
  }

  std::unique_ptr<Lookups> lookups() override { return std::make_unique<TrainLookups>(cores_, caches_); }
  std::unique_ptr<Updates> updates(const std::vector<KeyedShard>& shards) override {
    return std::make_unique<TrainUpdates>(cores_, caches_, layout_, shards);
  }

  std::vector<ShardPart> parts(std::int64_t s) const override {
    std::vector<ShardPart> parts;
    const TensorTrainShape& shape = train(s).shape;
    for (int t = 0; t < shape.cores; ++t) parts.push_back({{0, shape.p[t], 1}, 0, shape.slice_elements(t)});
    return parts;
  }
  bool has_parts() const override { return true; }
  PartRow part_row(std::int64_t s, std::int64_t local_row) const override {
    return {0, train(s).shape.digits(local_row)[0]};
  }

  std::vector<float> read_rows(std::int64_t s, std::int64_t part,
                               const std::vector<std::int64_t>& local_rows) const override {
    return cores_.read(train(s), static_cast<int>(part), local_rows);
  }
  std::vector<float> read_state(std::int64_t s, std::int64_t part,
                                const std::vector<std::int64_t>& local_rows) const override {
    return cores_.read_state(train(s), static_cast<int>(part), local_rows);
  }
  void write_state(std::int64_t s, std::int64_t part, std::int64_t local_row,
                   const std::vector<float>& row_state) override {
    cores_.write_state(train(s), static_cast<int>(part), local_row, row_state);
  }
  std::int64_t changed_rows(std::int64_t s, std::int64_t part, const RowValues& initial) const override {
    return cores_.changed(train(s), static_cast<int>(part), initial);
  }

  CacheCounts cache_counts() const override {
    CacheCounts sum;
    for (const auto& [shard, cache] : caches_) sum += cache.counts();
    return sum;
  }

  double huge_page_share() const override { return cores_.huge_page_share(); }

 private:
  const KeptTrain& train(std::int64_t s) const { return *cores_.find(s); }

  const ShardLayout& layout_;
  TrainCores cores_;
  TrainCaches caches_;
};

}  // namespace

std::unique_ptr<Store> make_tt_store(const ShardLayout& layout, const std::vector<Table>& tables,
                                     const std::vector<std::int64_t>& shards) {
  return std::make_unique<TtStore>(layout, tables, shards);
}

double tt_store_bytes(const Table& table, std::int64_t, std::int64_t) {
  double bytes = train_cache_bytes(table);
  for (const Table& core : core_tables(table))
    bytes += static_cast<double>(core.rows) * static_cast<double>(row_bytes(core.value_type, core.dim) +
                                                                  4 * state_per_row(core.optimizer.kind, core.dim));
  return bytes;
}

}  // namespace shardmark::workloads
