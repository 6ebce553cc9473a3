// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/row_store.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/huge_pages.hpp"
#include "kernels/lookup/pooled_gradients.hpp"
#include "kernels/lookup/pooled_lookup.hpp"
#include "kernels/update/row_sums.hpp"
#include "reference/error.hpp"

namespace shardmark::workloads {

RowStore::RowStore(const ShardLayout& layout, const std::vector<Table>& tables, const std::vector<std::int64_t>& shards,
                   const std::vector<std::int64_t>& places)
    : layout_(layout), tables_(tables), shards_(shards), at_(layout.shards.size()) {
  std::int64_t values = 0, state = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::int64_t s = shards[i];
    at_[s] = {values, state, places[i]};
    values += align(places[i] * row_bytes(table_of(s).value_type, local(s).dim()), kernels::line_pair);
    state += align(places[i] * state_size(s), kernels::line_pair / 4);
  }
  values_ = kernels::allocate<Execution, std::byte>("shardmark::tables", values);
  state_ = kernels::allocate<Execution, float>("shardmark::state", state);
}

class RowStore::RowLookups : public Store::Lookups {
 public:
  explicit RowLookups(const RowStore& store) : store_(store) {}

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
  const RowStore& store_;
  HostList<kernels::LookupBlock> lookups_;
  HostList<kernels::PooledGradient> maxima_;
  ConstDeviceArray<kernels::LookupBlock> lookup_blocks_;
  ConstDeviceArray<kernels::PooledGradient> maximum_blocks_;
};

class RowStore::RowUpdates : public Store::Updates {
 public:
  RowUpdates(const RowStore& store, const std::vector<KeyedShard>& shards) : store_(store), keyed_(shards) {
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
    if (!store_.kept_.empty()) keep(gradients.unique);
    kernels::fused_update(Execution(), gradients, shards_, now, workspace_, whole_rows);
  }
  kernels::RowElements count(const kernels::UniqueRows<Execution>& unique) override {
    return kernels::row_elements(Execution(), unique, shards_);
  }

 private:
  /// Keeps the rows of the store that are updated next, whose keys are ascending.
  void keep(const kernels::UniqueRows<Execution>& unique) {
    if constexpr (host_reaches_arrays) {
      Execution().fence("shardmark: distinct rows are known");
      const auto first_of = [&](std::int64_t key) {
        return kernels::first_at_least(unique.count(), key, [&](std::int64_t u) { return unique.key(u); });
      };
      for (std::size_t i = 0; i < keyed_.size(); ++i) {
        KeptRows* const kept = store_.kept_rows(keyed_[i].shard);
        if (kept == nullptr) continue;
        const std::int64_t begin = first_of(keyed_[i].first_key),
                           end = i + 1 < keyed_.size() ? first_of(keyed_[i + 1].first_key) : unique.count();
        kept->before_write(end - begin, [&](std::int64_t u) { return unique.key(begin + u) - keyed_[i].first_key; });
      }
    }
  }

  const RowStore& store_;
  std::vector<KeyedShard> keyed_;
  kernels::ShardList<Execution, kernels::UpdateShard> shards_;
  kernels::RowGradientsWorkspace<Execution> workspace_;
};

std::unique_ptr<Store::Lookups> RowStore::lookups(const std::vector<std::int64_t>&) {
  return std::make_unique<RowLookups>(*this);
}
std::unique_ptr<Store::Updates> RowStore::updates(const std::vector<KeyedShard>& shards) {
  return std::make_unique<RowUpdates>(*this, shards);
}

ConstDeviceArray<std::int64_t> RowStore::listed_places(std::int64_t s,
                                                       const std::vector<std::int64_t>& local_rows) const {
  if (!local_rows.empty() && (local_rows.front() < 0 || local_rows.back() >= places(s)))
    throw InputError(
        fmt::format("rows {} to {} are asked of a part that has {}", local_rows.front(), local_rows.back(), places(s)));
  return kernels::array_of(Execution(), local_rows, "shardmark::listed_rows");
}

StoredRows RowStore::read_listed(std::int64_t s, std::int64_t /*part*/,
                                 const std::vector<std::int64_t>& local_rows) const {
  StoredRows stored = arrays(s).read_places(listed_places(s, local_rows));
  if (KeptRows* const kept = kept_rows(s))
    kept->put_back(
        std::ssize(local_rows), [&](std::int64_t i) { return local_rows[i]; }, stored);
  return stored;
}

void RowStore::write_listed(std::int64_t s, std::int64_t /*part*/, const std::vector<std::int64_t>& local_rows,
                            const StoredRows& stored) {
  arrays(s).write_places(listed_places(s, local_rows), stored);
}

void RowStore::keep_rows() {
  kept_.resize(at_.size());
  for (const std::int64_t s : shards_) {
    RowArrays rows = arrays(s);
    rows.rows = rows_to_keep(s);
    kept_[static_cast<std::size_t>(s)] = std::make_unique<KeptRows>(rows);
  }
}

RowArrays RowStore::arrays(std::int64_t s) const {
  return {.values = rows(s),
          .state = state(s),
          .rows = places(s),
          .dim = local(s).dim(),
          .value_type = table_of(s).value_type,
          .optimizer = table_of(s).optimizer.kind};
}

kernels::ShardRows RowStore::shard_rows(std::int64_t s) const {
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
kernels::UpdateShard RowStore::update_shard(const KeyedShard& keyed) const {
  const std::int64_t s = keyed.shard;
  if (at_[s].values < 0) return {.first_key = keyed.first_key, .optimizer = {.kind = OptimizerKind::none}};
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
          .column_begin = local(s).column_begin,
          .row_numbers = row_numbers(s)};
}

}  // namespace shardmark::workloads
