// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/tensor_train/tt_lookups.hpp"

#include <algorithm>
#include <limits>

#include "kernels/lookup/pooled_lookup.hpp"

namespace shardmark::workloads {

TtLookup::TtLookup(const TtCores& cores, TtCaches& caches, const std::vector<TtTable>& tts)
    : dim_(tts.front().what.dim) {
  std::vector<kernels::TensorTrainCores> all;
  std::int64_t slices = 0;
  workspace_.most_bytes = std::numeric_limits<std::int64_t>::max();
  for (const TtTable& tt : tts) {
    const auto cache = caches.find(tt.shard);
    tts_.push_back({.shard = tt.shard,
                    .keys = tt.keys(key_bound_),
                    .contracted = tt.contracted,
                    .cache = cache == caches.end() ? nullptr : &cache->second});
    has_caches_ |= tts_.back().cache != nullptr;
    all.push_back(cores.cores(tt, key_bound_, slices));
    first_keys_.host.push_back(key_bound_);
    key_bound_ += tt.shape.rows();
    slices += tt.shape.slices();
    workspace_.most_bytes = std::min(workspace_.most_bytes, tt.what.tensor_train.workspace_mib << 20);
  }
  cores_ = kernels::tensor_trains(Execution(), all);
  first_keys_.array();
  shifts_.host.assign(tts_.size(), 0);
  std::vector<std::int64_t> ends = first_keys_.host;
  ends.push_back(key_bound_);
  segments_ = kernels::ShardSegments<Execution>(ends);
}

void TtLookup::clear() {
  bags_of_shards_.clear();
  lookups_.host.clear();
  maxima_.host.clear();
  shards_.clear();
  maximum_shards_.clear();
}

const TtLookup::Tt& TtLookup::tt_of(std::int64_t shard) const { return *std::ranges::find(tts_, shard, &Tt::shard); }

void TtLookup::add(const BagBlock& block) {
  const Tt& tt = tt_of(block.shard);
  const kernels::TtKeys keys = tt.cache == nullptr ? tt.keys : kernels::TtKeys{};  // those: rows themselves
  bags_of_shards_.push_back({block.shard, {.first_bag = block.first_bag, .bags = block.bags, .keys = keys}});
  shards_.push_back(block.shard);
  lookups_.host.push_back({.first_bag = block.first_bag,
                           .bags = block.bags,
                           .dim = dim_,
                           .output = block.output,
                           .output_stride = block.stride,
                           .pooling = block.pooling});
  if (block.pooling != Pooling::max) return;
  maximum_shards_.push_back(block.shard);
  kernels::PooledGradient& maximum = maxima_.host.emplace_back(kernels::PooledGradient{lookups_.host.back()});
  maximum.gradient = block.gradient;
  maximum.gradient_stride = block.stride;
  maximum.id_gradient = block.id_gradient;
  maximum.id_gradient_stride = block.id_gradient_stride;
}

void TtLookup::set() {
  tt_bags_.host.clear();
  for (const bool cached : {false, true})
    for (Tt& tt : tts_) {
      if ((tt.cache != nullptr) != cached) continue;
      tt.begin = tt_bags_.host.size();
      for (const auto& [shard, bags] : bags_of_shards_)
        if (shard == tt.shard) tt_bags_.host.push_back(bags);
      tt.end = tt_bags_.host.size();
    }
  tt_bags_.array();
}

void TtLookup::count_ids(const BagIds& bags) {
  const Execution exec;
  all_ids_ = bags_of_shards_.size() == 1 && tt_of(bags_of_shards_.front().first).cache != nullptr &&
             bags_of_shards_.front().second.bags + 1 == static_cast<std::int64_t>(bags.offsets.extent(0));
  if (all_ids_) {
    ids_before_ = {0, static_cast<std::int64_t>(bags.ids.extent(0))};
    return;
  }
  const auto before = before_.first(std::ssize(tt_bags_.host) + 1);
  kernels::count_tt_ids<Execution>(exec, tt_bags_.made(), bags.offsets, before);
  ids_before_.resize(before.extent(0));
  kernels::copy_array(exec, kernels::host_array(ids_before_), before);
  exec.fence("shardmark: the host reads how many ids name rows of tensor trains");
}

/// Lists the ids; those of tt tables with a cache have their rows in the place of keys. Where all ids are of one such
/// table, id i has position i.
TtLookup::Keyed TtLookup::list_ids(const BagIds& bags) {
  const std::int64_t count = ids_before_.back();
  if (all_ids_) return {bags.ids, {}};
  const Keyed all{keys_.first(count), positions_.first(count)};
  kernels::list_tt_ids<Execution>(Execution(), tt_bags_.made(), bags.offsets,
                                  before_.first(std::ssize(tt_bags_.host) + 1), bags.ids, all.keys, all.positions);
  return all;
}

TtLookup::Keyed TtLookup::without_hits(const Keyed& all, const DeviceArray<std::int64_t>& numbers) {
  const Execution exec;
  const auto count = static_cast<std::int64_t>(all.keys.extent(0));
  const Keyed missed{missed_keys_.first(count), missed_positions_.first(count)};
  std::int64_t place = -1;
  for (const Tt& tt : tts_) {
    if (tt.cache == nullptr) continue;
    const std::int64_t begin = ids_before_[tt.begin], end = ids_before_[tt.end];
    if (place < 0) {  // those before are of tt tables without a cache
      place = begin;
      kernels::copy_array(exec, part(missed.keys, 0, begin), part(all.keys, 0, begin));
      kernels::copy_array(exec, part(missed.positions, 0, begin), part(all.positions, 0, begin));
    }
    const Keyed of_tt{part(all.keys, begin, end), all_ids_ ? all.positions : part(all.positions, begin, end)};
    place += find_hits(tt, of_tt, missed, place, numbers);
  }
  return {part(missed.keys, 0, place), part(missed.positions, 0, place)};
}

/// Finds the hits among ids of one tt table: gives hits their slots as numbers, and appends the others to `missed`.
/// Returns how many these are.
std::int64_t TtLookup::find_hits(const Tt& tt, const Keyed& ids, const Keyed& missed, std::int64_t place,
                                 const DeviceArray<std::int64_t>& numbers) {
  const Execution exec;
  const auto count = static_cast<std::int64_t>(ids.keys.extent(0));
  const auto slots = all_ids_ ? part(numbers, 0, count) : slots_.first(count), misses = misses_.first(count);
  tt.cache->find(ids.keys, slots);
  tt.cache->directory().count_found(exec, slots);
  const std::int64_t missing = kernels::split_found<Execution>(exec, slots, hits_.first(count), misses);
  if (!all_ids_) kernels::number_hits<Execution>(exec, slots, ids.positions, numbers);
  kernels::list_chosen<Execution>(exec, tt.keys, part(misses, 0, missing), ids.keys, ids.positions,
                                  part(missed.keys, place, place + missing),
                                  part(missed.positions, place, place + missing));
  return missing;
}

void TtLookup::contract(const Keyed& ids, const DeviceArray<std::int64_t>& numbers) {
  const Execution exec;
  unique_ = kernels::unique_rows<Execution>(exec, ids.keys, key_bound_, ids.positions,
                                            static_cast<std::int64_t>(numbers.extent(0)), unique_workspace_);
  tree_ = kernels::prefix_tree(exec, *unique_, cores_, tree_workspace_);
  const auto rows = row_aligned(rows_.first((tree_->rows() + 1) * dim_), dim_);
  kernels::contract_rows(exec, *tree_, cores_, workspace_, rows, dim_);
  if (has_caches_) complete(rows);
  number_rows(rows, numbers);
}

/// Completes rows that are not in the caches: adds what they are beside the product of their slices, and counts that
/// they were missed.
void TtLookup::complete(const DeviceArray<float>& vectors) {
  const Execution exec;
  const std::vector<std::int64_t>& begins = segments_(*unique_);
  for (std::size_t t = 0; t < tts_.size(); ++t) {
    const std::int64_t begin = begins[t], end = begins[t + 1];
    if (tts_[t].cache == nullptr || begin == end) continue;
    const auto rows = missed_rows_.first(end - begin), uses = uses_.first(end - begin);
    kernels::list_uses<Execution>(exec, *unique_, begin, tts_[t].keys, rows, uses);
    tts_[t].cache->directory().count_missed(exec, rows, uses, !tts_[t].keys.mirrored);
    tts_[t].cache->complete(rows, part(vectors, begin * dim_, end * dim_));
  }
}

/// Numbers the rows. In a tt table with a cache, rows are numbered from the first cached one, wherever they lie.
void TtLookup::number_rows(const DeviceArray<float>& rows, const DeviceArray<std::int64_t>& numbers) {
  for (std::size_t t = 0; t < tts_.size(); ++t) {
    tts_[t].rows = tts_[t].cache == nullptr ? rows.data() : tts_[t].cache->rows();
    const auto bytes = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(rows.data()) -
                                                 reinterpret_cast<std::uintptr_t>(tts_[t].rows));
    shifts_.host[t] = bytes / (dim_ * std::int64_t{sizeof(float)});
  }
  kernels::invert_unique_rows<Execution>(Execution(), *unique_, first_keys_.made(), shifts_.array(), numbers);
}

void TtLookup::run(const BagIds& bags, const DeviceArray<std::int64_t>& numbers, const DeviceArray<float>& output) {
  if (lookups_.host.empty()) return;
  for (Tt& tt : tts_) {
    tt.rows = tt.cache == nullptr ? nullptr : tt.cache->rows();
    if (tt.cache != nullptr && tt.begin < tt.end) tt.cache->populate_if_due();
  }
  unique_.reset();
  tree_.reset();
  count_ids(bags);
  if (ids_before_.back() > 0) {
    const Keyed all = list_ids(bags);
    const Keyed ids = has_caches_ ? without_hits(all, numbers) : all;
    if (ids.keys.extent(0) > 0) contract(ids, numbers);
  }
  for (std::size_t b = 0; b < shards_.size(); ++b) lookups_.host[b].rows = tt_of(shards_[b]).rows;
  for (std::size_t b = 0; b < maximum_shards_.size(); ++b) maxima_.host[b].rows = tt_of(maximum_shards_[b]).rows;
  kernels::pooled_lookup(Execution(), lookups_.array(), bags.offsets, numbers, bags.weights, output);
}

void TtLookup::max_gradients(const BagIds& bags, const DeviceArray<std::int64_t>& numbers,
                             const ConstDeviceArray<float>& pooled, const ConstDeviceArray<float>& gradients,
                             const DeviceArray<float>& id_gradients) {
  if (maxima_.host.empty()) return;
  kernels::max_gradients<Execution>(Execution(), maxima_.array(), bags.offsets, numbers, bags.weights, pooled,
                                    gradients, id_gradients);
}

void TtLookup::report(std::span<std::int64_t> numbers) const {
  if (lookups_.host.empty() || ids_before_.empty()) return;
  numbers[tt_number("lookups")] += ids_before_.back();
  for (const Tt& tt : tts_)
    numbers[tt_number("nominal_flops")] += nominal_flops(tt.contracted, ids_before_[tt.end] - ids_before_[tt.begin]);
  if (!tree_) return;
  const auto prefixes = kernels::count_prefixes(Execution(), *tree_, cores_);
  for (std::size_t t = 0; t < tts_.size(); ++t) {
    const TensorTrainShape& shape = tts_[t].contracted;
    numbers[tt_number("executed_flops")] += forward_flops(shape, prefixes[t]);
    for (int level = 0; level < shape.cores; ++level) numbers[tt_number("prefixes.1") + level] += prefixes[t][level];
    numbers[tt_number("rows")] += prefixes[t][shape.cores - 1];
  }
}

TtLookups::TtLookups(const TtCores& cores, TtCaches& caches, const std::vector<std::int64_t>& shards) : cores_(cores) {
  std::map<std::int64_t, std::vector<TtTable>> tts;
  for (const std::int64_t s : shards)
    if (const TtTable* tt = cores.find(s)) tts[tt->what.dim].push_back(*tt);
  for (const auto& [dim, of_dim] : tts) by_dim_.try_emplace(dim, cores, caches, of_dim);
}

void TtLookups::set(const std::vector<BagBlock>& blocks) {
  for (auto& [dim, lookup] : by_dim_) lookup.clear();
  for (const BagBlock& block : blocks) by_dim_.at(cores_.find(block.shard)->what.dim).add(block);
  for (auto& [dim, lookup] : by_dim_) lookup.set();
}

void TtLookups::run(const BagIds& bags, const DeviceArray<float>& output) {
  numbers_ = scratch_.first(static_cast<std::int64_t>(bags.ids.extent(0)));
  for (auto& [dim, lookup] : by_dim_) lookup.run(bags, numbers_, output);
}

void TtLookups::max_gradients(const BagIds& bags, const ConstDeviceArray<float>& pooled,
                              const ConstDeviceArray<float>& gradients, const DeviceArray<float>& id_gradients) {
  for (auto& [dim, lookup] : by_dim_) lookup.max_gradients(bags, numbers_, pooled, gradients, id_gradients);
}

void TtLookups::report(std::span<std::int64_t> numbers) const {
  for (const auto& [dim, lookup] : by_dim_) lookup.report(numbers);
}

}  // namespace shardmark::workloads
