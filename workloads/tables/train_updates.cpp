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

TrainUpdates::TrainUpdates(const TrainCores& cores, TrainCaches& caches, const ShardLayout& layout,
                           const std::vector<KeyedShard>& shards)
    : segments_(first_keys(layout, shards)) {
  workspace_.most_bytes = std::numeric_limits<std::int64_t>::max();
  std::vector<kernels::TensorTrainCores> trains;
  std::vector<kernels::UpdateShard> core_shards, caches_as_shards;
  std::vector<std::int64_t> first_slices;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const KeptTrain* train = cores.find(shards[s].shard);
    packed_rows_.host.push_back({.first_key = shards[s].first_key, .dim = train != nullptr ? train->what.dim : 0});
    if (train == nullptr) continue;
    const auto cache = caches.find(train->shard);
    Train& added = trains_of_shards_.emplace_back(
        Train{s, *train, train->keys(key_bound_), slices_, cache == caches.end() ? nullptr : &cache->second});
    if (is_trained(added)) {
      added.first_slot = slots_of_caches_;
      caches_as_shards.push_back(added.cache->update_shard(slots_of_caches_));
      slots_of_caches_ += added.cache->slots();
    }
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
  cached_rows_ = kernels::shard_list(Execution(), caches_as_shards);
}

/// The distinct rows of every train, one behind the other; returns how many there are. Those of trains whose cached
/// rows are trained are listed by row, not by key.
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
                          .keys = is_trained(train) ? kernels::TrainKeys{} : train.keys});
    place += rows;
    vector += rows * packed.dim;
  }
  return place;
}

/// The rows that are trained through their slices; the others go to cached_.
TrainUpdates::Keyed TrainUpdates::without_cached(const Keyed& all, std::int64_t elements) {
  const Execution exec;
  const auto count = static_cast<std::int64_t>(all.keys.extent(0));
  const Keyed cored{core_keys_.first(count), core_vectors_.first(count)};
  const Keyed cached{cached_keys_.first(count), cached_vectors_.first(count)};
  std::int64_t cores = 0, hits = 0;
  for (std::size_t t = 0; t < trains_of_shards_.size(); ++t) {
    const Train& train = trains_of_shards_[t];
    const std::int64_t rows = rows_.host[t].rows, begin = rows_.host[t].place, end = begin + rows;
    const auto keys = part(all.keys, begin, end), vectors = part(all.vectors, begin, end);
    if (!is_trained(train)) {
      Kokkos::deep_copy(exec, part(cored.keys, cores, cores + rows), keys);
      Kokkos::deep_copy(exec, part(cored.vectors, cores, cores + rows), vectors);
      cores += rows;
      continue;
    }
    const auto slots = slots_.first(rows), found = hits_.first(rows), missed = misses_.first(rows);
    train.cache->find(keys, slots);
    const std::int64_t missing = kernels::split_found<Execution>(exec, slots, found, missed),
                       next = hits + rows - missing;
    kernels::list_chosen<Execution>(exec, train.keys, part(missed, 0, missing), keys, vectors,
                                    part(cored.keys, cores, cores + missing),
                                    part(cored.vectors, cores, cores + missing));
    kernels::list_chosen<Execution>(exec, kernels::TrainKeys{.shape = {}, .first_key = train.first_slot},
                                    part(found, 0, rows - missing), slots, vectors, part(cached.keys, hits, next),
                                    part(cached.vectors, hits, next));
    cores += missing;
    hits = next;
  }
  const auto unique = kernels::unique_rows<Execution>(
      exec, part(cached.keys, 0, hits), std::max<std::int64_t>(slots_of_caches_, 1), part(cached.vectors, 0, hits),
      std::max<std::int64_t>(elements, 1), cached_workspace_);
  cached_ = RowGradients{unique, {}, {}, row_gradients_.first(elements)};
  return {part(cored.keys, 0, cores), part(cored.vectors, 0, cores)};
}

RowGradients TrainUpdates::part_gradients(const RowGradients& rows) {
  const Execution exec;
  cached_.reset();
  tree_.reset();
  const std::int64_t count = place_rows(rows.unique);
  const std::int64_t elements =
      rows_.host.empty() ? 0 : rows_.host.back().vector + rows_.host.back().rows * rows_.host.back().dim;
  const auto packed = row_gradients_.first(elements);
  Keyed keyed{keys_.first(count), vectors_.first(count)};
  if (count > 0) {
    kernels::pack_row_gradients(exec, rows, {packed_rows_.array(), largest_dim_}, row_workspace_, packed);
    kernels::list_train_rows<Execution>(exec, rows.unique, rows_.array(), keyed.keys, keyed.vectors);
    if (slots_of_caches_ > 0) keyed = without_cached(keyed, elements);
  }
  const auto unique =
      kernels::unique_rows<Execution>(exec, keyed.keys, std::max<std::int64_t>(key_bound_, 1), keyed.vectors,
                                      std::max<std::int64_t>(elements, 1), unique_workspace_);
  if (keyed.keys.extent(0) == 0) return {unique, {}, {}, packed};
  tree_ = kernels::prefix_tree(exec, unique, trains_, tree_workspace_);
  return kernels::slice_gradients<Execution>(exec, *tree_, trains_, packed, order_, workspace_);
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
  end_step(now);
}

void TrainUpdates::end_step(const kernels::UpdateStep& now) {
  for (const Train& train : trains_of_shards_)
    if (train.cache != nullptr) train.cache->end_step(now.number);
}

void TrainUpdates::run(const RowGradients& gradients, const kernels::UpdateStep& now,
                       const kernels::RowSums<Execution>&) {
  if (place_rows(gradients.unique) == 0) return end_step(now);
  const RowGradients slices = part_gradients(gradients);
  if (cached_) kernels::fused_update(Execution(), *cached_, cached_rows_, now, row_workspace_);
  update_parts(fused_ ? slices : stored(slices), now);
}

std::int64_t TrainUpdates::train_flops() const {
  if (!tree_) return 0;
  const auto prefixes = kernels::count_prefixes(Execution(), *tree_, trains_);
  std::int64_t flops = 0;
  for (std::size_t t = 0; t < trains_of_shards_.size(); ++t)
    flops += backward_flops(trains_of_shards_[t].what.contracted, prefixes[t]);
  return flops;
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
