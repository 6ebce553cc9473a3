// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/traffic/transfer_bytes.hpp"

namespace shardmark::placement {
namespace {

constexpr double length_bytes = 4, count_bytes = 8;

double lengths_and_ids(const ShardCounts& counts, const Packing& packing) {
  return length_bytes * counts.bags + static_cast<double>(packing.id_bytes) * counts.ids;
}

/// Returns a round trip of vectors from owner to home, and as many gradients back.
RoundTrip vectors_home(int home, int owner, double requested, double vectors, std::int64_t columns, WireTypes wire) {
  return {.home = home,
          .owner = owner,
          .requested = requested,
          .vectors = vectors * static_cast<double>(row_bytes(wire.forward, columns)),
          .gradients = vectors * static_cast<double>(row_bytes(wire.backward, columns))};
}

RoundTrip rows_home(int home, int owner, double rows, std::int64_t columns, const Packing& packing, WireTypes wire) {
  return vectors_home(home, owner, count_bytes + static_cast<double>(packing.row_id_bytes) * rows, rows, columns, wire);
}

std::vector<RoundTrip> partial_bytes(const HomeLookups& lookups, const Packing& packing, double ShardCounts::*vectors) {
  std::vector<RoundTrip> trips;
  for (const auto& [owner, counts] : lookups.holders)
    trips.push_back(vectors_home(lookups.home, owner, lengths_and_ids(counts, packing), counts.*vectors,
                                 lookups.columns, packing.wire));
  return trips;
}

std::vector<RoundTrip> sum_bytes(const HomeLookups& lookups, const Packing& packing, ReductionSteps steps) {
  std::vector<RoundTrip> trips;
  for (const auto& [owner, counts] : lookups.holders)
    trips.push_back({.home = lookups.home, .owner = owner, .requested = lengths_and_ids(counts, packing)});
  const double bags = lookups.holders.front().counts.bags;  // the same for every shard of a table
  for (int from = 0; from < lookups.ranks; ++from)
    trips.push_back(
        vectors_home(next_hop(steps, lookups.ranks, from, lookups.home), from, 0, bags, lookups.columns, {}));
  return trips;
}

}  // namespace

std::vector<RoundTrip> dense_partial_bytes(const HomeLookups& lookups, const Packing& packing) {
  return partial_bytes(lookups, packing, &ShardCounts::bags);
}

std::vector<RoundTrip> sparse_partial_bytes(const HomeLookups& lookups, const Packing& packing) {
  return partial_bytes(lookups, packing, &ShardCounts::touched_bags);
}

std::vector<RoundTrip> node_partial_bytes(const HomeLookups& lookups, const Packing& packing) {
  std::vector<RoundTrip> trips;
  std::vector<int> holders;
  for (const auto& [owner, counts] : lookups.holders) holders.push_back(owner);
  const Nodes& nodes = packing.nodes;
  const std::vector<bool> adds = nodes_that_add(nodes, holders);
  for (const auto& [owner, counts] : lookups.holders) {
    const bool alone = nodes.count() == 0 || !adds[nodes.of(owner)];
    trips.push_back(vectors_home(lookups.home, owner, lengths_and_ids(counts, packing), alone ? counts.bags : 0.0,
                                 lookups.columns, packing.wire));
  }
  const double bags = lookups.holders.front().counts.bags;  // the same for every shard of a table
  for (int node = 0; node < nodes.count(); ++node) {
    if (!adds[node]) continue;
    const int adder = nodes.counterpart(node, lookups.home);
    for (const int rank : nodes.ranks_of(node))
      trips.push_back(vectors_home(adder, rank, 0, bags, lookups.columns, {}));
    trips.push_back(vectors_home(lookups.home, adder, 0, bags, lookups.columns, packing.wire));
  }
  return trips;
}

std::vector<RoundTrip> direct_sum_bytes(const HomeLookups& lookups, const Packing& packing) {
  return sum_bytes(lookups, packing, ReductionSteps::direct);
}

std::vector<RoundTrip> halving_sum_bytes(const HomeLookups& lookups, const Packing& packing) {
  return sum_bytes(lookups, packing, ReductionSteps::halving);
}

std::vector<RoundTrip> unique_row_bytes(const HomeLookups& lookups, const Packing& packing) {
  std::vector<RoundTrip> trips;
  for (const auto& [owner, counts] : lookups.holders) {
    const bool by_node = packing.dedup == Dedup::node;
    const int requested = by_node ? packing.nodes.counterpart(packing.nodes.of(lookups.home), owner) : owner;
    const double rows = asks_once(packing.dedup) ? counts.distinct_rows : counts.ids;
    trips.push_back(
        rows_home(lookups.home, requested, rows, lookups.columns, packing, by_node ? WireTypes{} : packing.wire));
  }
  return trips;
}

std::vector<RoundTrip> node_row_bytes(const HomeLookups& lookups, const Packing& packing) {
  std::vector<RoundTrip> trips;
  for (const auto& [owner, counts] : lookups.holders)
    trips.push_back(rows_home(packing.nodes.counterpart(packing.nodes.of(lookups.home), owner), owner,
                              counts.distinct_rows, lookups.columns, packing, packing.wire));
  return trips;
}

}  // namespace shardmark::placement
