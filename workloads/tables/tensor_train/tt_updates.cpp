// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/tensor_train/tt_updates.hpp"

#include <algorithm>
#include <limits>

namespace shardmark::workloads {
namespace {

/// Returns where the rows of each shard begin, and where the last one ends.
std::vector<std::int64_t> first_keys(const ShardLayout& layout, const std::vector<KeyedShard>& shards) {
  std::vector<std::int64_t> keys;
  for (const KeyedShard& shard : shards) keys.push_back(shard.first_key);
  keys.push_back(shards.empty() ? 0 : keys.back() + layout.shards[shards.back().shard].rows.count());
  return keys;
}

}  // namespace

TtUpdates::TtUpdates(const TtCores& cores, TtCaches& caches, const ShardLayout& layout,
                     const std::vector<KeyedShard>& shards)
    : segments_(first_keys(layout, shards)) {
  workspace_.most_bytes = std::numeric_limits<std::int64_t>::max();
  std::vector<kernels::TensorTrainCores> tts;
  std::vector<kernels::UpdateShard> core_shards, caches_as_shards;
  std::vector<std::int64_t> first_slices;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const TtTable* tt = cores.find(shards[s].shard);
    packed_rows_.host.push_back({.first_key = shards[s].first_key, .dim = tt != nullptr ? tt->what.dim : 0});
    if (tt == nullptr) continue;
    const auto cache = caches.find(tt->shard);
    Tt& added = tts_of_shards_.emplace_back(
        Tt{s, *tt, tt->keys(key_bound_), slices_, cache == caches.end() ? nullptr : &cache->second});
    if (is_trained(added)) {
      added.first_slot = slots_of_caches_;
      caches_as_shards.push_back(added.cache->update_shard(slots_of_caches_));
      slots_of_caches_ += added.cache->slots();
    }
    tts.push_back(cores.cores(*tt, key_bound_, slices_));
    largest_dim_ = std::max(largest_dim_, tt->what.dim);
    for (int place = 0; place < tt->shape.cores; ++place) {
      const kernels::UpdateShard& core = core_shards.emplace_back(cores.update_shard(*tt, place, slices_));
      packed_slices_.host.push_back({.first_key = slices_, .dim = core.dim});
      parts_.push_back({shards[s].shard, tt->place(place), slices_, tt->contracted.p[place], core.dim});
      first_slices.push_back(slices_);
      slices_ += tt->contracted.p[place];
    }
    key_bound_ += tt->shape.rows();
    if (tt->what.tensor_train.slice_sums == SliceSums::ordered) order_ = SliceSums::ordered;
    fused_ &= tt->what.tensor_train.fused_update;
    updates_ |= tt->what.optimizer.kind != OptimizerKind::none;
    workspace_.most_bytes = std::min(workspace_.most_bytes, tt->what.tensor_train.workspace_mib << 20);
  }
  first_slices.push_back(slices_);
  core_segments_ = kernels::ShardSegments<Execution>(first_slices);
  tts_ = kernels::tensor_trains(Execution(), tts);
  cores_ = kernels::shard_list(Execution(), core_shards);
  cached_rows_ = kernels::shard_list(Execution(), caches_as_shards);
}

/// Lists the distinct rows of every tt table, one behind the other; returns how many there are. Those of tables whose
/// cached rows are trained are listed by row, not by key.
std::int64_t TtUpdates::place_rows(const kernels::UniqueRows<Execution>& unique) {
  const std::vector<std::int64_t>& begins = segments_(unique);
  rows_.host.clear();
  std::int64_t place = 0, vector = 0;
  for (const Tt& tt : tts_of_shards_) {
    kernels::PackedRows& packed = packed_rows_.host[tt.number];
    const std::int64_t rows = begins[tt.number + 1] - begins[tt.number];
    packed.first_row = begins[tt.number];
    packed.output = vector;
    rows_.host.push_back({.first_unique = begins[tt.number],
                          .rows = rows,
                          .row_key = packed.first_key,
                          .place = place,
                          .vector = vector,
                          .dim = packed.dim,
                          .keys = is_trained(tt) ? kernels::TtKeys{} : tt.keys});
    place += rows;
    vector += rows * packed.dim;
  }
  return place;
}

/// Returns the gradients of rows that are trained through their slices, by key; those of the others go to cached_.
/// Whatever is summed is summed later: rows only change their keys.
RowGradients TtUpdates::without_cached(const RowGradients& rows, std::int64_t count) {
  const Execution exec;
  const auto all_keys = keys_.first(count), all_numbers = numbers_.first(count);
  const Keyed cored{core_keys_.first(count), core_numbers_.first(count)};
  const Keyed cached{cached_keys_.first(count), cached_numbers_.first(count)};
  for (kernels::TtRows& tt : rows_.host) {  // so that what is listed as vectors is numbers of distinct rows
    tt.vector = tt.first_unique;
    tt.dim = 1;
  }
  kernels::list_tt_rows<Execution>(exec, rows.unique, rows_.array(), all_keys, all_numbers);
  std::int64_t missed = 0, hits = 0;
  packed_missed_.host.clear();
  for (std::size_t t = 0; t < tts_of_shards_.size(); ++t) {
    const Tt& tt = tts_of_shards_[t];
    const std::int64_t begin = rows_.host[t].place, end = begin + rows_.host[t].rows;
    const Keyed of_tt{part(all_keys, begin, end), part(all_numbers, begin, end)};
    packed_missed_.host.push_back({.first_key = tt.keys.first_key, .dim = tt.what.what.dim, .first_row = missed});
    const Split split = split_cached(tt, of_tt, cored, missed, cached, hits);
    missed += split.missed;
    hits += split.hits;
  }
  cached_ = RowGradients{kernels::rekeyed_rows<Execution>(exec, rows.unique, part(cached.numbers, 0, hits),
                                                          part(cached.keys, 0, hits), cached_workspace_),
                         rows.gradient_offset, rows.weights, rows.gradients};
  place_missed(missed);
  return {kernels::rekeyed_rows<Execution>(exec, rows.unique, part(cored.numbers, 0, missed),
                                           part(cored.keys, 0, missed), missed_workspace_),
          rows.gradient_offset, rows.weights, rows.gradients};
}

/// Splits rows of one tt table: appends them to those that are trained through slices, or to those that are trained in
/// a cache.
TtUpdates::Split TtUpdates::split_cached(const Tt& tt, const Keyed& rows, const Keyed& cored, std::int64_t at,
                                         const Keyed& cached, std::int64_t cached_at) {
  const Execution exec;
  const auto count = static_cast<std::int64_t>(rows.keys.extent(0));
  if (!is_trained(tt)) {
    kernels::copy_array(exec, part(cored.keys, at, at + count), rows.keys);
    kernels::copy_array(exec, part(cored.numbers, at, at + count), rows.numbers);
    return {count, 0};
  }
  const auto slots = slots_.first(count), found = hits_.first(count), missed = misses_.first(count);
  tt.cache->find(rows.keys, slots);
  const Split split{kernels::split_found<Execution>(exec, slots, found, missed), 0};
  const std::int64_t hits = count - split.missed;
  kernels::list_chosen<Execution>(exec, tt.keys, part(missed, 0, split.missed), rows.keys, rows.numbers,
                                  part(cored.keys, at, at + split.missed), part(cored.numbers, at, at + split.missed));
  kernels::list_chosen<Execution>(exec, kernels::TtKeys{.shape = {}, .first_key = tt.first_slot}, part(found, 0, hits),
                                  slots, rows.numbers, part(cached.keys, cached_at, cached_at + hits),
                                  part(cached.numbers, cached_at, cached_at + hits));
  return {split.missed, hits};
}

/// Places the gradients of rows that are not cached, one behind the other.
void TtUpdates::place_missed(std::int64_t count) {
  std::int64_t vector = 0;
  for (std::size_t t = 0; t < packed_missed_.host.size(); ++t) {
    kernels::PackedRows& packed = packed_missed_.host[t];
    const std::int64_t end = t + 1 < packed_missed_.host.size() ? packed_missed_.host[t + 1].first_row : count;
    packed.output = vector;
    rows_.host[t] = {.first_unique = packed.first_row,
                     .rows = end - packed.first_row,
                     .row_key = packed.first_key,
                     .place = packed.first_row,
                     .vector = vector,
                     .dim = packed.dim,
                     .keys = {.shape = {}, .first_key = packed.first_key}};
    vector += rows_.host[t].rows * packed.dim;
  }
}

RowGradients TtUpdates::part_gradients(const RowGradients& rows) {
  const Execution exec;
  cached_.reset();
  tree_.reset();
  std::int64_t count = place_rows(rows.unique);
  const bool splits = slots_of_caches_ > 0 && count > 0;
  const RowGradients cored = splits ? without_cached(rows, count) : rows;
  if (splits) count = rows_.host.back().place + rows_.host.back().rows;
  const std::int64_t elements =
      rows_.host.empty() ? 0 : rows_.host.back().vector + rows_.host.back().rows * rows_.host.back().dim;
  const auto packed = row_gradients_.first(elements);
  const auto keys = keys_.first(count), vectors = numbers_.first(count);
  if (count == 0) return {kernels::unique_rows<Execution>(exec, keys, 1, unique_workspace_), {}, {}, packed};
  kernels::pack_row_gradients(exec, cored, {(splits ? packed_missed_ : packed_rows_).array(), largest_dim_},
                              row_workspace_, packed);
  kernels::list_tt_rows<Execution>(exec, cored.unique, rows_.array(), keys, vectors);
  const auto unique = kernels::unique_rows<Execution>(exec, keys, key_bound_, vectors, elements, unique_workspace_);
  tree_ = kernels::prefix_tree(exec, unique, tts_, tree_workspace_);
  return kernels::slice_gradients<Execution>(exec, *tree_, tts_, packed, order_, workspace_);
}

/// Stores the same gradients in memory as one vector for each slice.
RowGradients TtUpdates::stored(const RowGradients& slices) {
  const Execution exec;
  const std::vector<std::int64_t>& begins = core_segments_(slices.unique);
  std::vector<kernels::TtRows>& rows = rows_.host;
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
  const auto keys = keys_.first(begins.back()), vectors = numbers_.first(begins.back());
  kernels::pack_row_gradients(exec, slices, {packed_slices_.array(), largest}, slice_workspace_, packed);
  kernels::list_tt_rows<Execution>(exec, slices.unique, rows_.array(), keys, vectors);
  return {kernels::unique_rows<Execution>(exec, keys, slices_, vectors, elements, stored_workspace_), {}, {}, packed};
}

void TtUpdates::update_parts(const RowGradients& slices, const kernels::UpdateStep& now) {
  kernels::fused_update(Execution(), slices, cores_, now, slice_workspace_);
  end_step(now);
}

void TtUpdates::end_step(const kernels::UpdateStep& now) {
  for (const Tt& tt : tts_of_shards_)
    if (tt.cache != nullptr) tt.cache->end_step(now.number);
}

void TtUpdates::run(const RowGradients& gradients, const kernels::UpdateStep& now, const kernels::RowSums<Execution>&) {
  if (!updates_ || place_rows(gradients.unique) == 0) return end_step(now);
  const RowGradients slices = part_gradients(gradients);
  if (cached_) kernels::fused_update(Execution(), *cached_, cached_rows_, now, row_workspace_);
  update_parts(fused_ ? slices : stored(slices), now);
}

void TtUpdates::report(std::span<std::int64_t> numbers) const {
  if (!tree_) return;
  const auto prefixes = kernels::count_prefixes(Execution(), *tree_, tts_);
  for (std::size_t t = 0; t < tts_of_shards_.size(); ++t)
    numbers[tt_number("executed_flops")] += backward_flops(tts_of_shards_[t].what.contracted, prefixes[t]);
}

kernels::RowElements TtUpdates::count(const kernels::UniqueRows<Execution>& unique) {
  const Execution exec;
  kernels::RowElements elements{.rows = place_rows(unique)};
  std::vector<std::int64_t> first_slices;
  for (const Tt& tt : tts_of_shards_) first_slices.push_back(tt.first_slice);
  const DeviceArray<std::int32_t> touched("shardmark::touched_slices", static_cast<std::size_t>(slices_));
  kernels::mark_tt_slices<Execution>(exec, unique, rows_.array(),
                                     kernels::array_of(exec, first_slices, "shardmark::first_slices"), touched);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), touched);
  for (const Tt& tt : tts_of_shards_) {
    std::int64_t slice = tt.first_slice;
    for (int t = 0; t < tt.what.shape.cores; ++t) {
      const std::int64_t end = slice + tt.what.shape.p[t], size = tt.what.shape.slice_elements(t);
      const std::int64_t slices = std::count(host.data() + slice, host.data() + end, 1);
      elements.values += slices * size;
      elements.bytes += slices * row_bytes(tt.what.what.value_type, size);
      elements.state += slices * state_per_row(tt.what.what.optimizer.kind, size);
      slice = end;
    }
  }
  return elements;
}

}  // namespace shardmark::workloads
