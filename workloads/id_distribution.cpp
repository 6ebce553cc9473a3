// SPDX-License-Identifier: Apache-2.0
#include "workloads/id_distribution.hpp"

#include <algorithm>

#include "comm/collectives.hpp"

namespace shardmark {
namespace {

template <class T>
std::span<T> span_of(const DeviceArray<T>& array, std::int64_t size) {
  return {array.data(), static_cast<std::size_t>(size)};
}

/// Which slot gets an id. Replicated features have a slot of their own behind those that travel.
kernels::RowPartition row_partition(const ShardLayout& layout, const std::vector<Feature>& features,
                                    const std::vector<Table>& tables) {
  const auto rows_of = [&](std::int64_t feature) {
    return tables[static_cast<std::size_t>(features[static_cast<std::size_t>(feature)].table)].rows;
  };
  kernels::RowPartition partition;
  for (const Strip& strip : layout.strips) {
    std::vector<kernels::OwnedRows> owners;
    for (const std::int64_t s : strip.slots) {
      const RowSet& rows = layout.slots[static_cast<std::size_t>(s)].rows;
      owners.push_back({.begin = rows.begin, .end = rows.end, .stride = rows.stride, .slot = s});
    }
    partition.add_strip(strip.feature, rows_of(strip.feature), owners);
  }
  std::int64_t slot = std::ssize(layout.slots);
  for (const std::int64_t feature : layout.replicated_features) {
    const std::array<kernels::OwnedRows, 1> all{{{.begin = 0, .end = rows_of(feature), .stride = 1, .slot = slot++}}};
    partition.add_strip(feature, rows_of(feature), all);
  }
  return partition;
}

}  // namespace

IdDistribution::IdDistribution(const Communicator& comm, Exchange& exchange, const ShardLayout& layout,
                               const std::vector<Feature>& features, const std::vector<Table>& tables, Fault fault)
    : comm_(comm),
      exchange_(exchange),
      layout_(layout),
      features_(features),
      fault_(fault),
      owners_(kernels::row_owners(Execution(), row_partition(layout, features, tables))),
      slot_counts_("shardmark::slot_counts", layout.slots.size() + layout.replicated_features.size()),
      source_ids_("shardmark::source_ids", static_cast<std::size_t>(layout.ranks) + 1) {
  std::vector<std::int64_t> strips(features.size());
  for (const Strip& strip : layout.strips)
    most_strips_ = std::max(most_strips_, ++strips[static_cast<std::size_t>(strip.feature)]);
}

BagCounts IdDistribution::count_bags(const StepInput& input) const {
  const auto features = std::ssize(features_);
  std::vector<std::int64_t> counts;
  if (std::ranges::any_of(features_, [](const Feature& f) { return f.pooling == Pooling::none; })) {
    std::vector<std::int64_t> own;
    for (std::size_t f = 0; f < features_.size(); ++f) own.push_back(input.bags_of(f));
    counts = all_gather(comm_, std::span<const std::int64_t>(own)).values;
  } else {
    for (int r = 0; r < layout_.ranks; ++r)
      counts.insert(counts.end(), features_.size(), samples_of(input.global_samples, layout_.ranks, r).count);
  }
  return {features, std::move(counts)};
}

void IdDistribution::lay_out(const BagCounts& bags) {
  const auto ranks = static_cast<std::size_t>(layout_.ranks);
  std::vector<std::int64_t> first_bag, source_bags{0}, sent(ranks), received(ranks), sent_by(ranks), received_by(ranks);
  sent_bags_ = 0;
  const auto add_sent = [&](std::int64_t feature) {
    first_bag.push_back(sent_bags_);
    sent_bags_ += bags(layout_.rank, feature);
  };
  for (const Slot& slot : layout_.slots) {
    add_sent(slot.feature);
    sent[static_cast<std::size_t>(slot.rank)] += bags(layout_.rank, slot.feature);
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::int64_t count = bags(static_cast<int>(r), slot.feature);
      sent_by[r] += count;
      received_by[static_cast<std::size_t>(slot.rank)] += count;
      if (slot.rank == layout_.rank) received[r] += count;
    }
  }
  for (const std::int64_t count : received) source_bags.push_back(source_bags.back() + count);
  owned_bags_ = source_bags.back();
  const auto own = layout_.own_slots();
  first_block_bags_ = !own.empty()                           ? bags(0, own.front().feature)
                      : !layout_.replicated_features.empty() ? bags(layout_.rank, layout_.replicated_features.front())
                                                             : 0;
  for (const std::int64_t feature : layout_.replicated_features) {
    add_sent(feature);
    owned_bags_ += bags(layout_.rank, feature);
  }
  const std::int64_t peak = std::max(std::ranges::max(sent_by), std::ranges::max(received_by));
  length_route_ = Route(std::move(sent), std::move(received), peak);
  first_bag_ = kernels::array_of(Execution(), first_bag, "shardmark::slot_first_bag");
  source_bags_ = kernels::array_of(Execution(), source_bags, "shardmark::source_bags");
}

void IdDistribution::bucketize(const StepInput& input) {
  weighted_ = input.weighted;
  bucketed_ids_ = 0;
  for (const Strip& strip : layout_.strips) bucketed_ids_ += input.ids[static_cast<std::size_t>(strip.feature)];
  for (const std::int64_t f : layout_.replicated_features) bucketed_ids_ += input.ids[static_cast<std::size_t>(f)];
  const kernels::Buckets<Execution, std::int32_t, std::int64_t> buckets{
      first_bag_, lengths_sent_.first(sent_bags_), ids_sent_.first(bucketed_ids_),
      weights_sent_.first(weighted_ ? bucketed_ids_ : 0)};
  kernels::bucketize(Execution(), owners_, input.bags, buckets, slot_counts_, workspace_);
}

namespace {

/// Appends the last `count` elements of what was bucketized, those of replicated features, to what was received.
template <class T>
void append_own(const DeviceArray<T>& sent, const DeviceArray<T>& received, std::int64_t count) {
  const auto tail = [count](const DeviceArray<T>& array) {
    const auto end = static_cast<std::int64_t>(array.extent(0));
    return Kokkos::subview(array, std::pair(end - count, end));
  };
  Kokkos::deep_copy(Execution(), tail(received), tail(sent));
}

/// The defect of Fault::route: the first id that can moves into the bag after its own.
void move_one_id(const DeviceArray<std::int32_t>& lengths, std::int64_t bags) {
  Kokkos::parallel_for(
      "shardmark::fault_route", kernels::static_range(Execution(), 1), KOKKOS_LAMBDA(const std::int64_t) {
        for (std::int64_t b = 0; b + 1 < bags; ++b) {
          if (lengths(b) == 0) continue;
          --lengths(b);
          ++lengths(b + 1);
          return;
        }
      });
}

/// offsets[b] = sum of the lengths before b, b = 0 .. bags.
void sum_lengths(const DeviceArray<std::int32_t>& lengths, const DeviceArray<std::int64_t>& offsets) {
  const auto bags = static_cast<std::int64_t>(lengths.extent(0));
  Kokkos::parallel_scan(
      "shardmark::owned_offsets", kernels::static_range(Execution(), bags + 1),
      KOKKOS_LAMBDA(const std::int64_t b, std::int64_t& sum, const bool final) {
        if (final) offsets(b) = sum;
        if (b < bags) sum += lengths(b);
      });
}

/// taken[i] = values[at[i]]
void take(const DeviceArray<std::int64_t>& values, const ConstDeviceArray<std::int64_t>& at,
          const DeviceArray<std::int64_t>& taken) {
  Kokkos::parallel_for(
      "shardmark::source_ids", kernels::static_range(Execution(), static_cast<std::int64_t>(at.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { taken(i) = values(at(i)); });
}

}  // namespace

void IdDistribution::receive_lengths() {
  const auto sent = lengths_sent_.first(sent_bags_);
  const auto lengths = lengths_.first(owned_bags_);
  shardmark::run(exchange_, length_route_, std::span<const std::int32_t>(span_of(sent, length_route_.send_total())),
                 span_of(lengths, length_route_.receive_total()));
  append_own(sent, lengths, owned_bags_ - length_route_.receive_total());
  if (fault_ == Fault::route) move_one_id(lengths, first_block_bags_);
}

void IdDistribution::scan_lengths(OwnedIds& owned) {
  const Execution exec;
  const auto offsets = offsets_.first(owned_bags_ + 1);
  sum_lengths(lengths_.first(owned_bags_), offsets);
  const auto source_ids = Kokkos::create_mirror_view(Execution::memory_space{}, source_ids_);
  take(offsets, source_bags_, source_ids);
  Kokkos::deep_copy(exec, source_ids_, source_ids);
  exec.fence("shardmark: the host reads how many ids each source sends");
  owned.offsets = offsets;
  owned.exchanged_bags = length_route_.receive_total();
  owned.exchanged_ids = source_ids_(static_cast<std::size_t>(layout_.ranks));
}

Route IdDistribution::id_route(const StepInput& input) const {
  std::vector<std::int64_t> sent, received;
  for (std::size_t r = 0; r < static_cast<std::size_t>(layout_.ranks); ++r) {
    std::int64_t count = 0;
    for (std::int64_t s = layout_.first_slot[r]; s < layout_.first_slot[r + 1]; ++s) count += slot_counts_(s);
    sent.push_back(count);
    received.push_back(source_ids_(r + 1) - source_ids_(r));
  }
  return Route(std::move(sent), std::move(received), peak_ids(input));
}

template <class T>
DeviceArray<T> IdDistribution::receive(const Route& route, DeviceScratch<T>& send, DeviceScratch<T>& receive,
                                       std::int64_t own) {
  const auto sent = send.first(bucketed_ids_);
  const auto received = receive.first(route.receive_total() + own);
  shardmark::run(exchange_, route, std::span<const T>(span_of(sent, route.send_total())),
                 span_of(received, route.receive_total()));
  append_own(sent, received, own);
  return received;
}

OwnedIds IdDistribution::run(const StepInput& input) {
  bucketize(input);
  receive_lengths();
  OwnedIds owned;
  scan_lengths(owned);
  const Route route = id_route(input);
  const std::int64_t own = bucketed_ids_ - route.send_total();
  owned.ids = receive(route, ids_sent_, ids_, own);
  if (weighted_) owned.weights = receive(route, weights_sent_, weights_, own);
  return owned;
}

}  // namespace shardmark
