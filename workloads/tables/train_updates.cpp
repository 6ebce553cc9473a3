// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/train_updates.hpp"

#include <algorithm>
#include <limits>

namespace shardmark {
namespace {

/// Where the rows of each shard begin, and where the last one ends.
std::vector<std::int64_t> first_keys(const ShardLayout& layout, const std::vector<KeyedShard>& shards) {
  std::vector<std::int64_t> keys;
  for (const KeyedShard& shard : shards) keys.push_back(shard.first_key);
  keys.push_back(shards.empty() ? 0 : keys.back() + layout.shards[shards.back().shard].rows.count());
  return keys;
}

}  // namespace

TrainUpdates::TrainUpdates(const TrainCores& cores, const ShardLayout& layout, const std::vector<KeyedShard>& shards)
    : segments_(first_keys(layout, shards)) {
  workspace_.most_bytes = std::numeric_limits<std::int64_t>::max();
  std::vector<kernels::TensorTrainCores> trains;
  std::vector<kernels::UpdateShard> core_shards;
  std::vector<std::int64_t> first_slices;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const KeptTrain* train = cores.find(shards[s].shard);
    packed_rows_.host.push_back({.first_key = shards[s].first_key, .dim = train != nullptr ? train->what.dim : 0});
    if (train == nullptr) continue;
    trains_of_shards_.push_back({s, *train, train->keys(key_bound_), slices_});
    trains.push_back(cores.cores(*train, key_bound_, slices_));
    largest_dim_ = std::max(largest_dim_, train->what.dim);
    for (int place = 0; place < train->shape.cores; ++place) {
      const kernels::UpdateShard& core = core_shards.emplace_back(cores.update_shard(*train, place, slices_));
      packed_slices_.host.push_back({.first_key = slices_, .dim = core.dim});
      parts_.push_back({shards[s].shard, train->place(place), slices_, train->contracted.p[place], core.dim});
      first_slices.push_back(slices_);
      slices_ += train->contracted.p[place];
    }
    key_bound_ += train->shape.rows();
    if (train->what.tensor_train.slice_sums == SliceSums::ordered) order_ = SliceSums::ordered;
    fused_ &= train->what.tensor_train.fused_update;
    workspace_.most_bytes = std::min(workspace_.most_bytes, train->what.tensor_train.workspace_mib << 20);
  }
  first_slices.push_back(slices_);
  core_segments_ = kernels::ShardSegments<Execution>(first_slices);
  trains_ = kernels::tensor_trains(Execution(), trains);
  cores_ = kernels::shard_list(Execution(), core_shards);
}

/// The distinct rows of every train, one behind the other; returns how many there are.
std::int64_t TrainUpdates::place_rows(const kernels::UniqueRows<Execution>& unique) {
  const std::vector<std::int64_t>& begins = segments_(unique);
  rows_.host.clear();
  std::int64_t place = 0, vector = 0;
  for (const Train& train : trains_of_shards_) {
    kernels::PackedRows& packed = packed_rows_.host[train.number];
    const std::int64_t rows = begins[train.number + 1] - begins[train.number];
    packed.first_row = begins[train.number];
    packed.output = vector;
    rows_.host.push_back({.first_unique = begins[train.number],
                          .rows = rows,
                          .row_key = packed.first_key,
                          .place = place,
                          .vector = vector,
                          .dim = packed.dim,
                          .keys = train.keys});
    place += rows;
    vector += rows * packed.dim;
  }
  return place;
}

RowGradients TrainUpdates::part_gradients(const RowGradients& rows) {
  const Execution exec;
  const std::int64_t count = place_rows(rows.unique);
  const std::int64_t elements =
      rows_.host.empty() ? 0 : rows_.host.back().vector + rows_.host.back().rows * rows_.host.back().dim;
  const auto packed = row_gradients_.first(elements);
  const auto keys = keys_.first(count), vectors = vectors_.first(count);
  if (count == 0) return {kernels::unique_rows<Execution>(exec, keys, 1, unique_workspace_), {}, {}, packed};
  kernels::pack_row_gradients(exec, rows, {packed_rows_.array(), largest_dim_}, row_workspace_, packed);
  kernels::list_train_rows<Execution>(exec, rows.unique, rows_.array(), keys, vectors);
  const auto unique = kernels::unique_rows<Execution>(exec, keys, key_bound_, vectors, elements, unique_workspace_);
  const auto tree = kernels::prefix_tree(exec, unique, trains_, tree_workspace_);
  return kernels::slice_gradients<Execution>(exec, tree, trains_, packed, order_, workspace_);
}

/// The same gradients as one vector for each slice, in memory.
RowGradients TrainUpdates::stored(const RowGradients& slices) {
  const Execution exec;
  const std::vector<std::int64_t>& begins = core_segments_(slices.unique);
  std::vector<kernels::TrainRows>& rows = rows_.host;
  rows.clear();
  std::int64_t elements = 0, largest = 0;
  for (std::size_t c = 0; c < packed_slices_.host.size(); ++c) {
    kernels::PackedRows& core = packed_slices_.host[c];
    core.first_row = begins[c];
    core.output = elements;
    rows.push_back({.first_unique = begins[c],
                    .rows = begins[c + 1] - begins[c],
                    .place = begins[c],
                    .vector = elements,
                    .dim = core.dim,
                    .keys = {}});
    elements += rows.back().rows * core.dim;
    largest = std::max(largest, core.dim);
  }
  const auto packed = slice_gradients_.first(elements);
  const auto keys = keys_.first(begins.back()), vectors = vectors_.first(begins.back());
  kernels::pack_row_gradients(exec, slices, {packed_slices_.array(), largest}, slice_workspace_, packed);
  kernels::list_train_rows<Execution>(exec, slices.unique, rows_.array(), keys, vectors);
  return {kernels::unique_rows<Execution>(exec, keys, slices_, vectors, elements, stored_workspace_), {}, {}, packed};
}

void TrainUpdates::update_parts(const RowGradients& slices, const kernels::UpdateStep& now) {
  kernels::fused_update(Execution(), slices, cores_, now, slice_workspace_);
}

void TrainUpdates::run(const RowGradients& gradients, const kernels::UpdateStep& now,
                       const kernels::RowSums<Execution>&) {
  if (parts_.empty()) return;
  const RowGradients slices = part_gradients(gradients);
  update_parts(fused_ ? slices : stored(slices), now);
}

kernels::RowElements TrainUpdates::count(const kernels::UniqueRows<Execution>& unique) {
  const Execution exec;
  kernels::RowElements elements{.rows = place_rows(unique)};
  std::vector<std::int64_t> first_slices;
  for (const Train& train : trains_of_shards_) first_slices.push_back(train.first_slice);
  const DeviceArray<std::int32_t> touched("shardmark::touched_slices", static_cast<std::size_t>(slices_));
  kernels::mark_train_slices<Execution>(exec, unique, rows_.array(),
                                        kernels::array_of(exec, first_slices, "shardmark::first_slices"), touched);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), touched);
  for (const Train& train : trains_of_shards_) {
    std::int64_t slice = train.first_slice;
    for (int t = 0; t < train.what.shape.cores; ++t) {
      const std::int64_t end = slice + train.what.shape.p[t], size = train.what.shape.slice_elements(t);
      const std::int64_t slices = std::count(host.data() + slice, host.data() + end, 1);
      elements.values += slices * size;
      elements.bytes += slices * row_bytes(train.what.what.value_type, size);
      elements.state += slices * state_per_row(train.what.what.optimizer.kind, size);
      slice = end;
    }
  }
  return elements;
}

}  // namespace shardmark
