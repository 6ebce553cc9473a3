// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/placement/statistics/plan_counts.hpp"
#include "comm/placement/traffic/dedup.hpp"
#include "comm/placement/traffic/nodes.hpp"
#include "comm/placement/traffic/reduction_bytes.hpp"
#include "reference/wire_rounding.hpp"

namespace shardmark::placement {

/// Counts what travels in one step between a rank that has samples (home) and one that has rows (owner). Bytes are
/// doubles because expected counts give fractions of them.
struct RoundTrip {
  int home = 0, owner = 0;
  double requested = 0;  ///< bytes home -> owner in input_dist: ids, and how many there are
  double vectors = 0;    ///< bytes owner -> home in output_dist
  double gradients = 0;  ///< bytes home -> owner in grad_dist
};

/// Holds what the samples of one rank look up in each of the shards of a table that have the same columns, which
/// together hold every row once.
struct HomeLookups {
  int home = 0;
  int ranks = 1;
  std::int64_t columns = 0;
  struct Holder {
    int rank = 0;
    ShardCounts counts;
  };
  std::vector<Holder> holders;
};

/// Says how ids and vectors (pooled embeddings or rows) are encoded for the wire.
struct Packing {
  WireTypes wire = {};
  std::int64_t row_id_bytes = 4;  ///< of the number of a row that is asked for
  std::int64_t id_bytes = 4;      ///< of an id, with its weight if it has one, whose row is pooled by the owner
  Dedup dedup = Dedup::local;     ///< not automatic
  Nodes nodes = {};               ///< for Dedup::node and RowTransfer::node_partials
};

/// Counts what a transfer sends for one rank's lookups in the shards of some columns: a pure function of the counts,
/// one for each entry of `transfers` (movement.hpp). Round trips of a rank with itself are listed too; nothing is sent
/// for them. Below, n is how many bags the rank has, w how many columns there are, and s_w the bytes of w values in the
/// wire type.
using TransferBytes = std::vector<RoundTrip> (*)(const HomeLookups&, const Packing&);

/// Sends every shard 4 n bytes, the lengths of the bags, and id_bytes for each id that it holds. n partial sums of s_w
/// bytes come back from every shard, and as many gradients go there.
std::vector<RoundTrip> dense_partial_bytes(const HomeLookups& lookups, const Packing& packing);

/// Sends the same ids and lengths; partial sums and gradients are those of the touched bags alone.
std::vector<RoundTrip> sparse_partial_bytes(const HomeLookups& lookups, const Packing& packing);

/// Sends every shard 8 bytes, the number of rows, and row_id_bytes for each distinct row (with dedup off and owner: for
/// each id). A row of s_w bytes comes back for each, and a gradient goes there. With dedup node it requests the rows,
/// in fp32, from the counterpart of the shard's rank on its own node instead; node_row_bytes counts what that one
/// requests from the shard.
std::vector<RoundTrip> unique_row_bytes(const HomeLookups& lookups, const Packing& packing);

/// Sends the same ids and lengths as dense_partial_bytes. On every node that adds (nodes_that_add), each rank hands n
/// partial sums of 4 w bytes to the counterpart of the home on this node, which sends the home n sums of s_w bytes, and
/// n gradients of as many bytes take the same paths back. Of other nodes the owners send theirs as dense partials.
std::vector<RoundTrip> node_partial_bytes(const HomeLookups& lookups, const Packing& packing);

/// Sends the same ids and lengths as dense_partial_bytes. Every rank then hands on n partial sums of 4 w bytes on their
/// way to the home (next_hop), and n gradients of as many bytes take the same path back.
std::vector<RoundTrip> direct_sum_bytes(const HomeLookups& lookups, const Packing& packing);
std::vector<RoundTrip> halving_sum_bytes(const HomeLookups& lookups, const Packing& packing);

/// Counts, for unique rows with dedup node, what the counterparts of the shards' ranks on one node request from the
/// shards, once for each row that any rank of the node names. lookups.home is any rank of that node, the counts are
/// those of the samples of all its ranks together.
std::vector<RoundTrip> node_row_bytes(const HomeLookups& lookups, const Packing& packing);

}  // namespace shardmark::placement
