// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/unique_rows/row_hop.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "kernels/route/bag_lengths.hpp"

namespace shardmark::workloads {

RowShards::RowShards(const ShardLayout& layout, const std::vector<Table>& tables, const std::vector<Feature>& features,
                     const std::vector<placement::RowTransfer>& modes, const std::vector<int>& places) {
  using Group = std::pair<std::int64_t, std::int64_t>;  // table, first column
  using Key =
      std::tuple<int, std::int64_t, std::int64_t, std::int64_t>;  // place of the rank, table, first column, first row
  const auto table_of = [&](const Strip& strip) { return features[strip.feature].table; };
  const auto slot_of = [&](std::int64_t s) -> const Slot& { return layout.slots[s]; };
  const auto key_of = [&](const Strip& strip, const Slot& slot) {
    return Key(places[slot.rank], table_of(strip), strip.column_begin, slot.rows.begin);
  };
  std::map<Group, std::int64_t> group_numbers;
  std::map<Key, const Slot*> slots;
  for (std::int64_t s = 0; s < std::ssize(layout.strips); ++s) {
    const Strip& strip = layout.strips[s];
    if (modes[s] != placement::RowTransfer::unique_rows) continue;
    strips.push_back(s);
    group_of_strip.push_back(
        group_numbers.emplace(Group(table_of(strip), strip.column_begin), std::ssize(group_numbers)).first->second);
    for (const std::int64_t slot : strip.slots)
      if (slot_of(slot).rows.count() > 0) slots.emplace(key_of(strip, slot_of(slot)), &slot_of(slot));
  }
  groups = std::ssize(group_numbers);
  std::map<Key, std::int64_t> numbers;
  for (const auto& [key, slot] : slots) {
    numbers.emplace(key, std::ssize(shards));
    shards.push_back({.rank = slot->rank,
                      .local_shard = slot->local_shard,
                      .group = group_numbers.at(Group(std::get<1>(key), std::get<2>(key))),
                      .dim = layout.dim_of(*slot),
                      .first_key = keys,
                      .any_key = slot->rows.any_key});
    key_bounds.push_back(keys);
    keys += std::max(slot->rows.most_places(), slot->rows.any_key ? RowShard::most_numbered : 0);
    largest_dim = std::max(largest_dim, shards.back().dim);
  }
  first_keys = kernels::array_of(Execution(), key_bounds, "shardmark::row_shard_keys");
  key_bounds.push_back(keys);
  std::vector<std::uint8_t> any_key;
  for (const RowShard& shard : shards) any_key.push_back(shard.any_key ? 1 : 0);
  if (std::ranges::count(any_key, 1) > 0) any = kernels::array_of(Execution(), any_key, "shardmark::any_key_shards");
  kernels::RowPartition partition;
  for (const std::int64_t s : strips) {
    const Strip& strip = layout.strips[s];
    std::vector<kernels::OwnedRows> rows;
    std::optional<KeyBuckets> buckets;
    for (const std::int64_t slot : strip.slots)
      if (const placement::HeldRows& held = slot_of(slot).rows; held.count() > 0) {
        rows.push_back({held.begin - strip.hot_rows, held.end - strip.hot_rows, held.stride,
                        numbers.at(key_of(strip, slot_of(slot)))});
        buckets = held.buckets;
      }
    const std::int64_t rows_of_strip = tables[table_of(strip)].rows - strip.hot_rows;
    if (buckets)
      partition.add_strip_of_buckets(strip.feature, rows_of_strip, rows, *buckets);
    else
      partition.add_strip(strip.feature, rows_of_strip, rows);
  }
  owners = kernels::row_owners(Execution(), partition);
}

std::pair<std::int64_t, std::int64_t> RowShards::of_rank(int rank) const {
  const auto begin = std::ranges::find(shards, rank, &RowShard::rank) - shards.begin();
  return {begin, begin + std::ranges::count(shards, rank, &RowShard::rank)};
}

namespace {

/// Adds the numbers of ids to the keys of their positions.
ConstDeviceArray<std::int64_t> numbered(const PositionKeys& positions, const ConstDeviceArray<std::int64_t>& numbers,
                                        const DeviceArray<std::int64_t>& sums) {
  Kokkos::parallel_for(
      "shardmark::numbered_keys", kernels::static_range(Execution(), static_cast<std::int64_t>(sums.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t p) { sums(p) = positions.keys(p) + (positions.tags(p) >= 0 ? numbers(p) : 0); });
  return sums;
}

/// Replaces numbers within shards of any keys by the ids that have them.
template <class Index>
void name_rows(const kernels::UniqueRows<Execution>& unique, const RowShards& shards,
               const ConstDeviceArray<std::int64_t>& distinct, const DeviceArray<Index>& ids) {
  const auto count = static_cast<std::int64_t>(shards.shards.size());
  const auto first_keys = shards.first_keys;
  const auto any = shards.any;
  Kokkos::parallel_for(
      "shardmark::name_rows", kernels::static_range(Execution(), static_cast<std::int64_t>(ids.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t u) {
        if (any(kernels::last_at_most(count, unique.key(u), first_keys)) != 0)
          ids(u) = static_cast<Index>(distinct(static_cast<std::int64_t>(ids(u))));
      });
}

}  // namespace

template <class Index>
void DistinctRows::list_any_ids(const DeviceArray<Index>& ids) const {
  name_rows(unique_, shards_, numbers_.distinct(), ids);
}
template void DistinctRows::list_any_ids(const DeviceArray<std::int32_t>&) const;
template void DistinctRows::list_any_ids(const DeviceArray<std::int64_t>&) const;

void DistinctRows::find(const PositionKeys& positions, bool repeated) {
  const Execution exec;
  ConstDeviceArray<std::int64_t> keys = positions.keys;
  numbered_ = positions.tags.extent(0) > 0;
  if (numbered_) {
    if (numbers_.find(exec, positions.tags, positions.any_ids) > RowShard::most_numbered)
      throw InputError(
          "unique_rows: a rank has more than 2^27 different ids in a step; use a smaller batch, or --dedup");
    keys = numbered(positions, numbers_.numbers(), keys_.first(static_cast<std::int64_t>(keys.extent(0))));
  }
  unique_ = kernels::unique_rows<Execution>(
      exec, keys, kernels::KeyShards<Execution>{segments_.first_keys(), positions.shards}, shards_.keys, workspace_);
  if (repeated) {
    unique_.segments = each_.first(unique_.positions() + 1);
    kernels::count_up(exec, unique_.segments);
    Kokkos::deep_copy(exec, unique_.total, unique_.positions());
  }
  first_row_ = segments_(unique_);
  packed_begin_.assign(1, 0);
  packed_rows_.host.clear();
  for (std::int64_t s = 0; s < std::ssize(shards_.shards); ++s) {
    const RowShard& shard = shards_.shards[s];
    packed_rows_.host.push_back({shard.first_key, shard.dim, first_row(s), packed_begin(s)});
    packed_begin_.push_back(packed_begin(s) + rows(s) * shard.dim);
  }
  packed_ = packed_rows_.array();
}

namespace {

std::int64_t size_of(const RowHop::Range& range) { return range.second - range.first; }

}  // namespace

RowHop::RowHop(comm::Exchange& exchange, Wire& wire, const RowShards& rows, std::vector<Range> requested, Range held,
               const std::vector<bool>& askers)
    : exchange_(exchange),
      rows_(rows),
      asked_(std::move(requested)),
      held_(held),
      distinct_(rows),
      id_wire_(wire.ids()),
      vectors_(exchange, wire) {
  std::vector<std::int64_t> sent, received;
  for (const Range& range : asked_) sent.push_back(size_of(range));
  for (const bool asks : askers) received.push_back(asks ? size_of(held) : 0);
  count_route_ = comm::Route(std::move(sent), std::move(received), std::ssize(rows.shards) * std::ssize(asked_));
}

void RowHop::request(const PositionKeys& positions, std::int64_t bound, bool repeated) {
  distinct_.find(positions, repeated);
  exchange_counts();
  make_routes(bound);
}

void RowHop::exchange_counts() {
  asked_counts_.clear();
  for (const auto& [begin, end] : asked_)
    for (std::int64_t s = begin; s < end; ++s) asked_counts_.push_back(distinct_.rows(s));
  held_counts_.assign(count_route_.receive_total(), 0);
  comm::run(exchange_, count_route_, std::span<const std::int64_t>(asked_counts_), std::span(held_counts_));
  const auto held = static_cast<std::size_t>(size_of(held_));
  for (std::size_t r = 0; r < asked_.size(); ++r)  // ranks that ask for nothing
    if (count_route_.receive_counts()[r] == 0)
      held_counts_.insert(held_counts_.begin() + static_cast<std::ptrdiff_t>(r * held), held, 0);
}

void RowHop::make_routes(std::int64_t bound) {
  const auto dim = [&](std::int64_t s) { return rows_.shards[s].dim; };
  std::vector<std::int64_t> ids_sent, ids_received;
  RowBlocks blocks{.owner = {}, .home = {}, .row_bound = bound, .element_bound = bound * rows_.largest_dim};
  auto count = held_counts_.begin();
  for (int r = 0; r < static_cast<int>(asked_.size()); ++r) {
    const auto& [begin, end] = asked_[r];
    ids_sent.push_back(distinct_.first_row(end) - distinct_.first_row(begin));
    for (std::int64_t s = begin; s < end; ++s) blocks.home.push_back({r, distinct_.rows(s), dim(s)});
    std::int64_t ids = 0;
    for (std::int64_t s = held_.first; s < held_.second; ids += *count++, ++s)
      blocks.owner.push_back({r, *count, dim(s)});
    ids_received.push_back(ids);
  }
  id_route_ = comm::Route(std::move(ids_sent), std::move(ids_received), bound);
  vectors_.lay_out(static_cast<int>(asked_.size()), blocks);
}

void RowHop::receive_ids(const DeviceArray<std::int64_t>& ids) {
  id_wire_.write(id_route_.send_total(), [&](const auto& requested) { distinct_.list_ids(requested); });
  id_wire_.exchange(exchange_, id_route_, ids);
}

void RowHop::send_rows(const DeviceArray<float>& held, const DeviceArray<float>& packed) {
  vectors_.move(Direction::forward, held, packed);
}

void RowHop::return_gradients(const DeviceArray<float>& packed, const DeviceArray<float>& held) {
  vectors_.move(Direction::backward, packed, held);
}

void AnsweredRows::list(const ConstDeviceArray<std::int64_t>& offsets, const ConstDeviceArray<std::int64_t>& ids) {
  const auto positions = static_cast<std::int64_t>(ids.extent(0));
  offsets_ = offsets;
  ids_ = ids;
  keys_ = keys_scratch_.first(positions);
  vector_begin_ = begin_scratch_.first(positions);
  blocks_.host.clear();
  std::int64_t first = 0, element = 0;
  auto shard = stage_.held().first;
  for (const std::int64_t rows : stage_.held_counts()) {
    const RowShard& of = rows_.shards[shard];
    blocks_.host.push_back(
        {.first_bag = first, .bags = rows, .first_key = of.first_key, .gradient = element, .gradient_stride = of.dim});
    first += rows;
    element += rows * of.dim;
    if (++shard == stage_.held().second) shard = stage_.held().first;
  }
  kernels::expand_positions(Execution(), blocks_.array(), offsets_, ids, keys_, vector_begin_);
}

PositionKeys AnsweredRows::requested_keys() {
  if (rows_.any.extent(0) == 0) return {keys_, {}, {}, {}};
  const auto tags = tags_.first(static_cast<std::int64_t>(keys_.extent(0)));
  auto shard = stage_.held().first;
  for (const kernels::GradientBlock& block : blocks_.host) {
    const bool any = rows_.shards[shard].any_key;
    const std::int64_t end = block.first_bag + block.bags;
    Kokkos::deep_copy(Execution(), part(tags, block.first_bag, end), any ? static_cast<std::int32_t>(shard) : -1);
    if (any) Kokkos::deep_copy(Execution(), part(keys_, block.first_bag, end), block.first_key);
    if (++shard == stage_.held().second) shard = stage_.held().first;
  }
  return {keys_, {}, tags, ids_};
}

void AnsweredRows::repeat(const DistinctRows& distinct, const DeviceArray<float>& packed,
                          const DeviceArray<float>& vectors) {
  shift_.host.clear();
  for (std::int64_t s = 0; s < std::ssize(rows_.shards); ++s) shift_.host.push_back(-distinct.first_row(s));
  const auto indices = indices_.first(static_cast<std::int64_t>(keys_.extent(0)));
  distinct.number_positions(shift_.array(), indices);
  lookups_.host.clear();
  auto shard = stage_.held().first;
  for (const kernels::GradientBlock& block : blocks_.host) {
    lookups_.host.push_back({.first_bag = block.first_bag,
                             .bags = block.bags,
                             .rows = packed.data() + distinct.packed_begin(shard),
                             .value_type = ValueType::fp32,
                             .dim = block.gradient_stride,
                             .output = block.gradient,
                             .output_stride = block.gradient_stride,
                             .pooling = Pooling::sum});
    if (++shard == stage_.held().second) shard = stage_.held().first;
  }
  kernels::pooled_lookup(Execution(), lookups_.array(), offsets_, indices, ConstDeviceArray<float>(), vectors);
}

}  // namespace shardmark::workloads
