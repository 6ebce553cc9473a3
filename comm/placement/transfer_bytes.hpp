// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/placement/dedup.hpp"
#include "comm/placement/lookup_counts.hpp"
#include "comm/placement/nodes.hpp"
#include "comm/placement/reduction_bytes.hpp"
#include "reference/wire_rounding.hpp"

namespace shardmark {

/// What travels in one step between a rank that has samples (home) and one that has rows (owner). Bytes are doubles
/// because expected counts give fractions of them.
struct RoundTrip {
  int home = 0, owner = 0;
  double asked = 0;      ///< bytes home -> owner in input_dist: ids, and how many there are
  double vectors = 0;    ///< bytes owner -> home in output_dist
  double gradients = 0;  ///< bytes home -> owner in grad_dist
};

/// The shards of a table that have the same columns, which together hold every row once, and what the samples of one
/// rank look up in each.
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

/// How ids and vectors are written for their way.
struct Packing {
  WireTypes wire = {};
  std::int64_t row_id_bytes = 4;  ///< of the number of a row that is asked for
  std::int64_t id_bytes = 4;      ///< of an id, with its weight if it has one, whose row is pooled by the owner
  Dedup dedup = Dedup::local;     ///< not automatic
  Nodes nodes = {};               ///< for Dedup::node
};

/// The bytes that one rank's lookups in the shards of some columns cause. With n bags of the home, e =
/// packing.id_bytes, w columns and s_w bytes for w values in the wire type (reference/value_type.hpp):
using TransferBytes = std::vector<RoundTrip> (*)(const HomeLookups&, const Packing&);

/// To every shard 4 n bytes for the lengths of the bags and e for each id that it holds; from it n s_w, and back.
std::vector<RoundTrip> dense_partial_bytes(const HomeLookups& lookups, const Packing& packing);
/// The same asked; vectors and gradients of the touched bags alone.
std::vector<RoundTrip> sparse_partial_bytes(const HomeLookups& lookups, const Packing& packing);
/// To every shard 8 bytes for the number of rows and row_id_bytes for each distinct one (with dedup off and owner: for
/// each id); from it s_w a row, and back. With dedup node the rank of the home's node that is the shard's counterpart
/// is asked instead, in fp32; node_row_bytes adds what that one asks of the shard.
std::vector<RoundTrip> unique_row_bytes(const HomeLookups& lookups, const Packing& packing);
/// The same asked as of dense partials; 4 w n bytes of fp32 sums on every hop of every rank's sums to the home, and
/// of the home's gradients back.
std::vector<RoundTrip> direct_sum_bytes(const HomeLookups& lookups, const Packing& packing);
std::vector<RoundTrip> halving_sum_bytes(const HomeLookups& lookups, const Packing& packing);

/// Of unique rows with dedup node: what the counterparts of the shards on one node ask of them, once for each row that
/// any rank of the node names. lookups.home: any rank of the node; its counts are those of all samples of the node.
std::vector<RoundTrip> node_row_bytes(const HomeLookups& lookups, const Packing& packing);

}  // namespace shardmark
