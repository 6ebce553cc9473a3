// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/dense_store.hpp"

#include <algorithm>

#include "kernels/fill_rows.hpp"
#include "kernels/huge_pages.hpp"
#include "kernels/lookup/pooled_gradients.hpp"
#include "kernels/lookup/pooled_lookup.hpp"
#include "kernels/update/row_sums.hpp"
#include "workloads/tables/row_arrays.hpp"

namespace shardmark::workloads {
namespace {

class DenseStore : public Store {
 public:
  DenseStore(const ShardLayout& layout, const std::vector<Table>& tables, const std::vector<std::int64_t>& shards)
      : layout_(layout),
        tables_(tables),
        shards_(shards),
        value_begin_(layout.shards.size(), -1),
        state_begin_(layout.shards.size(), -1) {
    std::int64_t values = 0, state = 0;
    for (const std::int64_t s : shards) {
      value_begin_[s] = values;
      state_begin_[s] = state;
      const std::int64_t rows = local(s).rows.count();
      values += align(rows * row_bytes(table_of(s).value_type, local(s).dim()), kernels::line_pair);
      state += align(rows * state_size(s), kernels::line_pair / 4);
    }
    values_ = kernels::allocate<Execution, std::byte>("shardmark::tables", values);
    state_ = kernels::allocate<Execution, float>("shardmark::state", state);
  }

  void fill(const RowValues& initial) override {
    const Execution exec;
    for (const std::int64_t s : shards_) {
      kernels::fill_rows(exec, initial, shard_rows(s), rows(s));
      kernels::fill_state(exec, table_of(s).optimizer, local(s).rows.count(), local(s).dim(), state(s));
    }
    exec.fence("shardmark: tables are filled");
  }

  std::unique_ptr<Lookups> lookups() override { return std::make_unique<DenseLookups>(*this); }
  std::unique_ptr<Updates> updates(const std::vector<KeyedShard>& shards) override {
    return std::make_unique<DenseUpdates>(*this, shards);
  }

  std::vector<ShardPart> parts(std::int64_t s) const override {
    return {{local(s).rows, local(s).column_begin, local(s).column_end}};
  }
  ChosenRows read_rows(std::int64_t s, std::int64_t /*part*/,
                       const std::vector<std::int64_t>& local_rows) const override {
    return arrays(s).read_rows(local_rows);
  }
  StoredRows read_range(std::int64_t s, std::int64_t /*part*/, std::int64_t first, std::int64_t count) const override {
    return arrays(s).read_range(first, count);
  }
  void write_range(std::int64_t s, std::int64_t /*part*/, std::int64_t first, const StoredRows& stored) override {
    arrays(s).write_range(first, stored);
  }

  std::int64_t changed_rows(std::int64_t s, std::int64_t /*part*/, const RowValues& initial) const override {
    return kernels::count_changed_rows(Execution(), initial, shard_rows(s), rows(s));
  }

  double huge_page_share() const override { return kernels::huge_page_share(values_); }

 private:
  class DenseLookups : public Lookups {
   public:
    explicit DenseLookups(const DenseStore& store) : store_(store) {}

    void set(const std::vector<BagBlock>& blocks) override {
      lookups_.host.clear();
      maxima_.host.clear();
      for (const BagBlock& block : blocks) {
        lookups_.host.push_back({.first_bag = block.first_bag,
                                 .bags = block.bags,
                                 .rows = store_.rows(block.shard),
                                 .value_type = store_.table_of(block.shard).value_type,
                                 .dim = store_.local(block.shard).dim(),
                                 .output = block.output,
                                 .output_stride = block.stride,
                                 .pooling = block.pooling});
        if (block.pooling != Pooling::max) continue;
        kernels::PooledGradient& maximum = maxima_.host.emplace_back(kernels::PooledGradient{lookups_.host.back()});
        maximum.gradient = block.gradient;
        maximum.gradient_stride = block.stride;
        maximum.id_gradient = block.id_gradient;
        maximum.id_gradient_stride = block.id_gradient_stride;
      }
      lookup_blocks_ = lookups_.array();
      maximum_blocks_ = maxima_.array();
    }

    void run(const BagIds& bags, const DeviceArray<float>& output) override {
      kernels::pooled_lookup(Execution(), lookup_blocks_, bags.offsets, bags.ids, bags.weights, output);
    }

    void max_gradients(const BagIds& bags, const ConstDeviceArray<float>& pooled,
                       const ConstDeviceArray<float>& gradients, const DeviceArray<float>& id_gradients) override {
      kernels::max_gradients<Execution>(Execution(), maximum_blocks_, bags.offsets, bags.ids, bags.weights, pooled,
                                        gradients, id_gradients);
    }

   private:
    const DenseStore& store_;
    HostList<kernels::LookupBlock> lookups_;
    HostList<kernels::PooledGradient> maxima_;
    ConstDeviceArray<kernels::LookupBlock> lookup_blocks_;
    ConstDeviceArray<kernels::PooledGradient> maximum_blocks_;
  };

  class DenseUpdates : public Updates {
   public:
    DenseUpdates(const DenseStore& store, const std::vector<KeyedShard>& shards) {
      std::vector<kernels::UpdateShard> all;
      for (const KeyedShard& shard : shards) all.push_back(store.update_shard(shard));
      shards_ = kernels::shard_list(Execution(), all);
    }

    void row_sums(const RowGradients& gradients, const kernels::UpdateStep& now, const DeviceArray<double>& sums,
                  std::int64_t width) override {
      kernels::row_sums(Execution(), gradients, shards_, now, workspace_, sums, width);
    }
    void run(const RowGradients& gradients, const kernels::UpdateStep& now,
             const kernels::RowSums<Execution>& whole_rows) override {
      kernels::fused_update(Execution(), gradients, shards_, now, workspace_, whole_rows);
    }
    kernels::RowElements count(const kernels::UniqueRows<Execution>& unique) override {
      return kernels::row_elements(Execution(), unique, shards_);
    }

   private:
    kernels::ShardList<Execution, kernels::UpdateShard> shards_;
    kernels::RowGradientsWorkspace<Execution> workspace_;
  };

  const LocalShard& local(std::int64_t s) const { return layout_.shards[s]; }
  const Table& table_of(std::int64_t s) const { return tables_[local(s).table]; }
  std::int64_t state_size(std::int64_t s) const { return state_per_row(table_of(s).optimizer.kind, local(s).dim()); }
  std::byte* rows(std::int64_t s) const { return values_.data() + value_begin_[s]; }
  float* state(std::int64_t s) const { return state_.data() + state_begin_[s]; }

  RowArrays arrays(std::int64_t s) const {
    return {.values = rows(s),
            .state = state(s),
            .rows = local(s).rows.count(),
            .dim = local(s).dim(),
            .value_type = table_of(s).value_type,
            .optimizer = table_of(s).optimizer.kind};
  }

  kernels::ShardRows shard_rows(std::int64_t s) const {
    return {.table = local(s).table,
            .begin = local(s).rows.begin,
            .stride = local(s).rows.stride,
            .count = local(s).rows.count(),
            .column_begin = local(s).column_begin,
            .dim = local(s).dim(),
            .full_dim = table_of(s).dim,
            .value_type = table_of(s).value_type};
  }

  /// Returns a shard for the update. One of another store has no columns here and an optimizer that does nothing.
  kernels::UpdateShard update_shard(const KeyedShard& keyed) const {
    const std::int64_t s = keyed.shard;
    if (value_begin_[s] < 0) return {.first_key = keyed.first_key, .optimizer = {.kind = OptimizerKind::none}};
    return {.rows = rows(s),
            .state = state(s),
            .first_key = keyed.first_key,
            .dim = local(s).dim(),
            .full_dim = table_of(s).dim,
            .optimizer = table_of(s).optimizer,
            .value_type = table_of(s).value_type,
            .stochastic_rounding = table_of(s).stochastic_rounding,
            .table = local(s).table,
            .row_begin = local(s).rows.begin,
            .row_stride = local(s).rows.stride,
            .column_begin = local(s).column_begin};
  }

  const ShardLayout& layout_;
  const std::vector<Table>& tables_;
  std::vector<std::int64_t> shards_;
  std::vector<std::int64_t> value_begin_;  ///< by shard of the layout, bytes; -1: not kept here
  std::vector<std::int64_t> state_begin_;  ///< by shard of the layout, floats
  DeviceArray<std::byte> values_;
  DeviceArray<float> state_;
};

}  // namespace

std::unique_ptr<Store> make_dense_store(const ShardLayout& layout, const std::vector<Table>& tables,
                                        const std::vector<std::int64_t>& shards) {
  return std::make_unique<DenseStore>(layout, tables, shards);
}

}  // namespace shardmark::workloads
