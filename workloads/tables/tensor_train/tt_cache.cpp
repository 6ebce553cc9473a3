// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/tensor_train/tt_cache.hpp"

namespace shardmark::workloads {

using Vectors = kernels::PlacedVectors<Execution, float>;
using ConstVectors = kernels::PlacedVectors<Execution, const float>;

DeviceArray<float> row_aligned(const DeviceArray<float>& values, std::int64_t dim) {
  const auto row_bytes = static_cast<std::uintptr_t>(dim) * sizeof(float);
  const std::uintptr_t over = reinterpret_cast<std::uintptr_t>(values.data()) % row_bytes;
  const auto skip = static_cast<std::int64_t>((row_bytes - over) % row_bytes / sizeof(float));
  return part(values, skip, static_cast<std::int64_t>(values.extent(0)) - dim + skip);
}

TtCache::TtCache(const TtCores& cores, const TtTable& tt)
    : tt_(tt),
      shape_(row_cache_shape(tt.what.tensor_train.cache)),
      cores_(kernels::tensor_trains(Execution(), {cores.cores(tt, 0, 0)})),
      zero_(kernels::array_of(Execution(), std::vector<std::int64_t>{0}, "shardmark::zero")) {
  workspace_.most_bytes = tt.what.tensor_train.workspace_mib << 20;
  rows_ =
      row_aligned(kernels::allocate<Execution, float>("shardmark::cached_rows", (shape_.rows() + 1) * dim()), dim());
  if (is_trained())
    state_ = kernels::allocate<Execution, float>("shardmark::cached_state",
                                                 shape_.rows() * state_per_row(tt.what.optimizer.kind, dim()));
  clear();
}

void TtCache::report(std::span<std::int64_t> numbers) const {
  const RowCacheCounts counts = directory_->counts(Execution());
  numbers[tt_number("cache.hits")] += counts.hits;
  numbers[tt_number("cache.stale")] += counts.stale;
  numbers[tt_number("cache.misses")] += counts.misses;
  numbers[tt_number("cache.drops")] += counts.drops;
  numbers[tt_number("cache.evictions")] += counts.evictions;
  numbers[tt_number("cache.kept_differences")] += differences_->count();
}

void TtCache::clear() {
  directory_.emplace(shape_, tt_.what.rows, tt_.what.tensor_train.cache.writes);
  differences_.emplace(dim());
  step_ = version_ = populated_ = 0;
}

void TtCache::complete(const DeviceArray<std::int64_t>& rows, const DeviceArray<float>& vectors) {
  const Execution exec;
  if (is_trained()) return differences_->add_to(exec, rows, vectors, dim());
  const auto slots = slots_.first(static_cast<std::int64_t>(rows.extent(0)));
  find(rows, slots);
  kernels::keep_stale(exec, slots);
  kernels::copy_vectors(exec, static_cast<std::int64_t>(rows.extent(0)), dim(), ConstVectors{vectors},
                        Vectors{rows_, slots});
  directory_->set_version(exec, slots, version_);
}

void TtCache::populate_if_due() {
  const std::int64_t every = tt_.what.tensor_train.cache.populate_every;
  if (step_ == populated_ || step_ % every != 0) return;
  populated_ = step_;
  populate();
}

/// Returns the rows as their slices give them, in the order in which they are passed; they are distinct.
DeviceArray<float> TtCache::contracted(const ConstDeviceArray<std::int64_t>& rows) {
  const Execution exec;
  const auto count = static_cast<std::int64_t>(rows.extent(0));
  const auto keys = keys_.first(count), places = places_.first(count);
  kernels::list_row_keys<Execution>(exec, tt_.keys(0), rows, keys);
  const auto unique = kernels::unique_rows<Execution>(exec, keys, tt_.shape.rows(), unique_workspace_);
  const auto products = products_.first(count * dim()), vectors = vectors_.first(count * dim());
  kernels::contract_rows(exec, kernels::prefix_tree(exec, unique, cores_, tree_workspace_), cores_, workspace_,
                         products, dim());
  kernels::invert_unique_rows<Execution>(exec, unique, zero_, zero_, places);
  kernels::copy_vectors(exec, count, dim(), ConstVectors{products, places}, Vectors{vectors});
  return vectors;
}

/// A choice of rows changes the value of no row: one that leaves keeps by how much it differs from its slices, one
/// that enters begins with its value. Copies that are never trained are filled when they are looked up.
void TtCache::populate() {
  const Execution exec;
  const auto changes = directory_->populate(exec);
  const std::int64_t leaving = changes.leaving(), count = leaving + changes.entering();
  if (count == 0 || !is_trained()) return;
  const auto rows = changed_.first(count);
  kernels::copy_array(exec, part(rows, 0, leaving), changes.leaving_rows);
  kernels::copy_array(exec, part(rows, leaving, count), changes.entering_rows);
  const auto vectors = contracted(rows);
  const auto entering = part(vectors, leaving * dim(), count * dim());
  kernels::subtract_from(exec, leaving, dim(), ConstVectors{rows_, changes.leaving_slots}, Vectors{vectors});
  differences_->add_to(exec, changes.entering_rows, entering, dim());
  differences_->merge(exec, changes.leaving_rows, vectors, dim(), changes.entering_rows);
  kernels::copy_vectors(exec, count - leaving, dim(), ConstVectors{entering}, Vectors{rows_, changes.entering_slots});
  kernels::reset_state(exec, tt_.what.optimizer, dim(), changes.entering_slots, state_);
}

kernels::UpdateShard TtCache::update_shard(std::int64_t first_key) const {
  return {.rows = rows_.data(),
          .state = state_.data(),
          .first_key = first_key,
          .dim = dim(),
          .full_dim = dim(),
          .optimizer = tt_.what.optimizer,
          .value_type = ValueType::fp32,
          .table = tt_.table};
}

double tt_cache_bytes(const Table& table) {
  const RowCache& cache = table.tensor_train.cache;
  if (cache.rows == 0) return 0.0;
  const RowCacheShape shape = row_cache_shape(cache);
  const bool is_trained = cache.writes == CacheWrites::trained;
  const std::int64_t state = is_trained ? state_per_row(table.optimizer.kind, table.dim) : 0;
  const std::int64_t of_set = kernels::RowCacheArrays<Execution>::tag_words + 1 + 2 * shape.count_slots;  // words
  const std::int64_t of_row = is_trained ? 2 : 3;
  return 8.0 * static_cast<double>(shape.sets * of_set + shape.rows() * of_row) +
         4.0 * static_cast<double>(shape.rows() * (table.dim + state) + table.dim);
}

}  // namespace shardmark::workloads
