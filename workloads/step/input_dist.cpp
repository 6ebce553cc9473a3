// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/input_dist.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <type_traits>

#include "comm/collectives.hpp"
#include "kernels/route/bag_lengths.hpp"

namespace shardmark::workloads {
namespace {

template <class T>
std::span<T> span_of(const DeviceArray<T>& array, std::int64_t size) {
  return {array.data(), static_cast<std::size_t>(size)};
}

/// Returns the features that have hot rows and request their other ones one by one.
std::vector<std::int64_t> features_asked_apart(const ShardLayout& layout,
                                               const std::vector<placement::RowTransfer>& modes) {
  std::vector<std::int64_t> features;
  for (std::size_t s = 0; s < layout.strips.size(); ++s)
    if (modes[s] == placement::RowTransfer::unique_rows && layout.strips[s].hot_rows > 0)
      features.push_back(layout.strips[s].feature);
  return features;
}

/// Adds a strip of all rows of its table.
void add_strip(kernels::RowPartition& partition, const std::vector<Table>& tables, const std::vector<Feature>& features,
               std::int64_t feature, std::span<const kernels::OwnedRows> owners) {
  const std::int64_t number = features[feature].table;
  if (const auto buckets = placement::HeldRows({}, tables[number], number).buckets)
    partition.add_strip_of_buckets(feature, tables[number].rows, owners, *buckets);
  else
    partition.add_strip(feature, tables[number].rows, owners);
}

/// Maps ids to slots. Replicated features have a slot of their own behind those that travel, for all their ids or those
/// of hot rows; behind these come slots, for the ids that are left then, of features whose other rows are requested one
/// by one.
kernels::RowPartition row_partition(const ShardLayout& layout, const ShardedTables& tables,
                                    const std::vector<placement::RowTransfer>& modes) {
  const auto rows_of = [&](std::int64_t feature) { return tables.table_of(tables.features()[feature]).rows; };
  kernels::RowPartition partition;
  std::vector<kernels::OwnedRows> owners;
  std::vector<std::int64_t> hot_rows(tables.features().size());
  const auto replicated = [&](std::int64_t feature, std::int64_t rows) {
    const auto number = std::ranges::find(layout.replicated_features, feature) - layout.replicated_features.begin();
    return kernels::OwnedRows{.begin = 0, .end = rows, .stride = 1, .slot = std::ssize(layout.slots) + number};
  };
  std::int64_t slot = std::ssize(layout.slots) + std::ssize(layout.replicated_features);
  for (std::size_t number = 0; number < layout.strips.size(); ++number) {
    const Strip& strip = layout.strips[number];
    const bool requested = modes[number] == placement::RowTransfer::unique_rows;
    if (requested && strip.hot_rows == 0) continue;
    owners.clear();
    if (requested)
      owners.push_back({.begin = strip.hot_rows, .end = rows_of(strip.feature), .stride = 1, .slot = slot++});
    for (const std::int64_t s : strip.slots) {
      const placement::RowSet& rows = layout.slots[s].rows;
      if (!requested) owners.push_back({.begin = rows.begin, .end = rows.end, .stride = rows.stride, .slot = s});
    }
    if (strip.hot_rows > 0) owners.push_back(replicated(strip.feature, strip.hot_rows));
    hot_rows[strip.feature] = strip.hot_rows;
    add_strip(partition, tables.tables(), tables.features(), strip.feature, owners);
  }
  for (const std::int64_t feature : layout.replicated_features)
    if (hot_rows[feature] == 0)
      partition.add_strip(feature, rows_of(feature), std::array{replicated(feature, rows_of(feature))});
  return partition;
}

}  // namespace

InputDist::InputDist(const comm::Communicator& comm, comm::ProgressThread& progress, comm::Exchange& exchange,
                     const ShardLayout& layout, const ShardedTables& tables,
                     const std::vector<placement::RowTransfer>& modes, placement::IdType id_type)
    : comm_(comm),
      progress_(progress),
      exchange_(exchange),
      layout_(layout),
      features_(tables.features()),
      modes_(modes),
      asked_apart_(features_asked_apart(layout, modes)),
      slot_counts_("shardmark::slot_counts",
                   layout.slots.size() + layout.replicated_features.size() + asked_apart_.size()),
      source_ids_("shardmark::source_ids", static_cast<std::size_t>(layout.ranks) + 1),
      sent_vectors_("shardmark::sent_vectors", slot_counts_.size() + 1),
      block_vectors_("shardmark::block_vectors",
                     static_cast<std::size_t>(layout.ranks) * layout.own_slots().size() + 1),
      id_wire_(id_type) {
  const kernels::RowPartition partition = row_partition(layout, tables, modes);
  owners_ = kernels::row_owners(Execution(), partition);
  known_strips_.slots = partition.only_slots();
  for (const kernels::Strip& strip : partition.strips()) bucketed_.push_back(strip.feature);
  std::vector<std::int64_t> strips(features_.size());
  for (const Strip& strip : layout.strips) most_strips_ = std::max(most_strips_, ++strips[strip.feature]);
  some_touched_only_ = std::ranges::any_of(layout.slots, [&](const Slot& slot) { return only_touched(slot); });
}

BagCounts InputDist::count_bags(const StepInput& input) {
  const auto features = std::ssize(features_);
  std::vector<std::int64_t> counts;
  if (!std::ranges::all_of(features_, has_bag_per_sample)) {
    std::vector<std::int64_t> own;
    for (std::size_t f = 0; f < features_.size(); ++f) own.push_back(input.bags_of(f));
    progress_.run([&] { counts = comm::all_gather(comm_, std::span<const std::int64_t>(own)).values; });
  } else {
    for (int r = 0; r < layout_.ranks; ++r)
      counts.insert(counts.end(), features_.size(), samples_of(input.global_samples, layout_.ranks, r).count);
  }
  return {features, std::move(counts)};
}

void InputDist::lay_out(const BagCounts& bags) {
  const auto ranks = static_cast<std::size_t>(layout_.ranks);
  std::vector<std::int64_t> sent(ranks), received(ranks), sent_by(ranks), received_by(ranks);
  auto &slot_begin = slot_begin_.host, &block_begin = block_begin_.host, &source_bags = source_bags_.host;
  auto &sent_touched_only = sent_touched_only_.host, &owned_touched_only = owned_touched_only_.host;
  slot_begin.clear();
  block_begin = source_bags = {0};
  sent_touched_only.clear();
  owned_touched_only.clear();
  counts_ = {};
  sent_bags_ = 0;
  const auto add_sent = [&](std::int64_t count) {
    slot_begin.push_back(sent_bags_);
    sent_bags_ += count;
  };
  const auto bags_of = [&](std::size_t rank, const Slot& slot) {
    return mode(slot) == placement::RowTransfer::unique_rows ? 0 : bags(static_cast<int>(rank), slot.feature);
  };
  const auto own_rank = static_cast<std::size_t>(layout_.rank);
  for (const Slot& slot : layout_.slots) {
    counts_.first_cell.push_back(only_touched(slot) ? sent_bags_ : -1);
    counts_.home.push_back(bags_of(own_rank, slot));
    add_sent(counts_.home.back());
    sent_touched_only.resize(sent_bags_, only_touched(slot) ? 1 : 0);
    sent[slot.rank] += counts_.home.back();
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::int64_t count = bags_of(r, slot);
      sent_by[r] += count;
      received_by[slot.rank] += count;
    }
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    for (const Slot& slot : layout_.own_slots()) {
      counts_.owner.push_back(bags_of(r, slot));
      block_begin.push_back(block_begin.back() + counts_.owner.back());
      owned_touched_only.resize(block_begin.back(), only_touched(slot) ? 1 : 0);
    }
    source_bags.push_back(block_begin.back());
    received[r] = source_bags[r + 1] - source_bags[r];
  }
  owned_bags_ = source_bags.back();
  for (const std::int64_t feature : layout_.replicated_features) {
    add_sent(bags(layout_.rank, feature));
    owned_bags_ += bags(layout_.rank, feature);
  }
  for (const std::int64_t feature : asked_apart_) add_sent(bags(layout_.rank, feature));
  first_replicated_bags_ =
      layout_.replicated_features.empty() ? 0 : bags(layout_.rank, layout_.replicated_features.front());
  const std::int64_t bound = std::max(std::ranges::max(sent_by), std::ranges::max(received_by));
  length_route_ = comm::Route(std::move(sent), std::move(received), bound);
  sent_touched_only.resize(sent_bags_);
  owned_touched_only.resize(owned_bags_);
  slot_begin.push_back(sent_bags_);
  for (HostList<std::int64_t>* listed : {&slot_begin_, &source_bags_, &block_begin_}) listed->array();
  for (HostList<std::uint8_t>* listed : {&sent_touched_only_, &owned_touched_only_}) listed->array();
}

void InputDist::bucketize(const StepInput& input) {
  weighted_ = input.weighted;
  bucketed_ids_ = 0;
  known_strips_.bags.clear();
  known_strips_.ids.clear();
  for (const std::int64_t f : bucketed_) {
    bucketed_ids_ += input.ids[f];
    known_strips_.bags.push_back(input.bags_of(f));
    known_strips_.ids.push_back(input.ids[f]);
  }
  const std::pair<std::size_t, std::size_t> slots(0, slot_counts_.size());
  id_wire_.write(bucketed_ids_, [&](const auto& ids) {
    using Index = typename std::remove_cvref_t<decltype(ids)>::value_type;
    const kernels::Buckets<Execution, std::int32_t, Index> buckets{Kokkos::subview(slot_begin_.made(), slots),
                                                                   lengths_sent_.first(sent_bags_), ids,
                                                                   weights_sent_.first(weighted_ ? bucketed_ids_ : 0)};
    counts_slots_ = kernels::bucketize(Execution(), owners_, input.bags, buckets, slot_counts_.on_device(), workspace_,
                                       known_strips_);
  });
  if (counts_slots_) return;
  for (std::size_t slot = 0; slot < slot_counts_.size(); ++slot) slot_counts_(slot) = 0;
  for (std::size_t s = 0; s < known_strips_.slots.size(); ++s)
    slot_counts_(known_strips_.slots[s]) = known_strips_.ids[s];
}

namespace {

/// Appends `count` elements of what was bucketized, those of replicated features behind the `sent` ones, to what was
/// received.
template <class T>
void append_own(const DeviceArray<T>& bucketized, std::int64_t sent, const DeviceArray<T>& received,
                std::int64_t count) {
  const auto end = static_cast<std::int64_t>(received.extent(0));
  kernels::copy_array(Execution(), part(received, end - count, end), part(bucketized, sent, sent + count));
}

}  // namespace

void InputDist::receive_lengths() {
  const auto sent = lengths_sent_.first(sent_bags_);
  const auto lengths = lengths_.first(owned_bags_);
  shardmark::comm::run(exchange_, length_route_,
                       std::span<const std::int32_t>(span_of(sent, length_route_.send_total())),
                       span_of(lengths, length_route_.receive_total()));
  append_own(sent, length_route_.send_total(), lengths, owned_bags_ - length_route_.receive_total());
}

/// Sets host[i] to values[at[i]].
void InputDist::read(const ConstDeviceArray<std::int64_t>& values, const ConstDeviceArray<std::int64_t>& at,
                     const HostCounts& host) {
  kernels::take(Execution(), values, at, host.on_device());
  host.read();
}

/// Sets vectors[b] to the number of vectors of the bags begins[b] .. begins[b + 1]. Returns how many are before each
/// bag, in `scratch`.
ConstDeviceArray<std::int64_t> InputDist::count(const DeviceArray<std::int32_t>& lengths,
                                                const ConstDeviceArray<std::uint8_t>& only_touched,
                                                const ConstDeviceArray<std::int64_t>& begins,
                                                DeviceScratch<std::int64_t>& scratch, const HostCounts& host,
                                                std::vector<std::int64_t>& vectors) {
  const auto before = scratch.first(static_cast<std::int64_t>(lengths.extent(0)) + 1);
  kernels::count_vectors(Execution(), lengths, only_touched, before);
  read(before, begins, host);
  for (std::size_t b = 0; b < vectors.size(); ++b) vectors[b] = host(b + 1) - host(b);
  return before;
}

void InputDist::scan_lengths(OwnedIds& owned) {
  const auto lengths = lengths_.first(owned_bags_);
  ConstDeviceArray<std::int64_t> before, source_begin = source_bags_.made();
  if (some_touched_only_) {
    owned.vectors_before = count(lengths_sent_.first(sent_bags_), sent_touched_only_.made(), slot_begin_.made(),
                                 sent_before_, sent_vectors_, counts_.home);
    before =
        count(lengths, owned_touched_only_.made(), block_begin_.made(), owned_before_, block_vectors_, counts_.owner);
    const auto source_vectors = source_vectors_.first(layout_.ranks + 1);
    kernels::take(Execution(), before, source_bags_.made(), source_vectors);
    source_begin = source_vectors;
  }
  const std::int64_t exchanged = std::accumulate(counts_.owner.begin(), counts_.owner.end(), std::int64_t{0});
  const std::int64_t end = owned.rows + exchanged + owned_bags_ - length_route_.receive_total();
  owned.offsets = offsets_.first(end + 1);
  kernels::sum_lengths(Execution(), owned.rows, lengths, before, owned.offsets, sum_workspace_);
  if (counts_slots_) slot_counts_.bring();
  read(part(owned.offsets, owned.rows, end + 1), source_begin, source_ids_);
  owned.exchanged_ids = source_ids_(static_cast<std::size_t>(layout_.ranks));
}

comm::Route InputDist::id_route(const StepInput& input) const {
  std::vector<std::int64_t> sent, received;
  for (std::size_t r = 0; r < static_cast<std::size_t>(layout_.ranks); ++r) {
    std::int64_t count = 0;
    for (std::int64_t s = layout_.first_slot[r]; s < layout_.first_slot[r + 1]; ++s) count += slot_counts_(s);
    sent.push_back(count);
    received.push_back(source_ids_(r + 1) - source_ids_(r));
  }
  return comm::Route(std::move(sent), std::move(received), length_route_.bound() > 0 ? id_bound(input) : 0);
}

/// Receives the weights of the ids behind those of `rows`; the rows themselves have weight 1.
DeviceArray<float> InputDist::receive_weights(const comm::Route& route, std::int64_t rows, std::int64_t own) {
  const auto sent = weights_sent_.first(bucketed_ids_);
  const std::int64_t end = rows + route.receive_total() + own;
  const auto weights = weights_.first(end), behind_rows = part(weights, rows, end);
  Kokkos::deep_copy(Execution(), part(weights, 0, rows), 1.0F);
  shardmark::comm::run(exchange_, route, std::span<const float>(span_of(sent, route.send_total())),
                       span_of(behind_rows, route.receive_total()));
  append_own(sent, route.send_total(), behind_rows, own);
  return weights;
}

std::vector<std::int64_t> InputDist::owned_blocks() const {
  std::vector<std::int64_t> blocks = counts_.held_rows;
  blocks.insert(blocks.end(), counts_.owner.begin(), counts_.owner.end());
  blocks.push_back(first_replicated_bags_);
  return blocks;
}

OwnedIds InputDist::run(const StepInput& input, HomeRows& rows) {
  bucketize(input);
  OwnedIds owned;
  if (rows.any()) {
    rows.request(input);
    counts_.held_rows = rows.held().held_counts();
    owned.rows = rows.held().held_rows();
  }
  receive_lengths();
  scan_lengths(owned);
  const comm::Route route = id_route(input);
  std::int64_t own = 0;
  for (std::size_t k = 0; k < layout_.replicated_features.size(); ++k) own += slot_counts_(layout_.slots.size() + k);
  const std::int64_t end = owned.rows + route.receive_total() + own;
  owned.ids = ids_.first(end);
  id_wire_.exchange(exchange_, route, part(owned.ids, owned.rows, end));
  if (rows.any()) rows.held().receive_ids(part(owned.ids, 0, owned.rows));
  if (weighted_) owned.weights = receive_weights(route, owned.rows, own);
  return owned;
}

}  // namespace shardmark::workloads
