// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "comm/placement/plan.hpp"
#include "comm/placement/statistics/plan_counts.hpp"
#include "comm/placement/traffic/dedup.hpp"
#include "comm/placement/traffic/movement.hpp"
#include "reference/wire_rounding.hpp"

namespace shardmark::placement {

// The functions of this header return the bytes of the arrays of a step on one rank, by what they hold. What a planner
// keeps free for a table (TableWork) and what a run must have before it starts (workloads/measure/memory.hpp) are sums
// of these. They are upper bounds, which tests compare with what is allocated.

/// This is the factor by which arrays exceed what a step needs: an array grows by a fifth more than is asked for
/// (kernels::Scratch), and ids vary from step to step.
inline constexpr double room_to_grow = 1.2;

/// Counts the ids of the rank's own samples, their keys and the sort of these.
constexpr double own_id_bytes(double ids) { return 92 * ids; }

/// Counts the ids that the rank pools rows for, their keys and the sort of these.
constexpr double owned_id_bytes(double ids) { return 80 * ids; }

/// Counts rows of a shard that travel one by one, at the rank that requests them. own: what its samples look up in the
/// shard.
double asker_bytes(const WireTypes& wire, Dedup dedup, std::int64_t columns, const ShardCounts& own);

/// Counts such rows at the rank that hands them on between its node and their owner (Dedup::node).
double relay_bytes(std::int64_t columns, double rows);

/// Counts such rows at their owner, beside the vectors. asked: rows requested from it; distinct: different ones among
/// them.
double holder_bytes(const WireTypes& wire, Dedup dedup, std::int64_t columns, double requested, double distinct);

/// Counts the lists of hot rows and of the other rows. bags, ids: of the rank's own samples, in the table.
double hot_row_bytes(RowTransfer transfer, double bags, double ids);

/// Counts dense sums of the gradients of that many replicated rows and MPI's copy of these; and a list of those that
/// were touched, which may be all, as words and segments with room to grow. Computed rows have no such list.
double replica_bytes(const Table& table, std::int64_t rows);

/// Counts what the gradient of an id takes where features pool by max, for at most `dim` columns: a vector in an array
/// of all ids for the shards that hold parts of tables, and one in an array for replicated rows.
double max_gradient_bytes(std::int64_t dim, bool parts, bool replicas);

/// Counts the gradients of distinct rows that are summed before holders of other columns are sent sums of them. ids:
/// those whose rows the rank holds; columns: of its widest shard.
double summed_gradient_bytes(std::int64_t columns, double ids);

/// Holds the bytes of the vectors of some tables in fp32 (pooled embeddings or rows), which are those of their
/// gradients too (StepLayout).
struct VectorBytes {
  double outputs = 0.0;       ///< of the rank's own samples
  double behind = 0.0;        ///< outputs that are put together behind the packed vectors
  double packed = 0.0;        ///< that come home
  double own_partials = 0.0;  ///< of hot rows; of others beside them that came one by one
  double reduced = 0.0;       ///< partial sums that are added on the way
  double owner = 0.0;         ///< that the rank sends home
  double held = 0.0;          ///< rows of its shards that are asked for one by one
};

/// Says how the features of some tables pool.
struct Pools {
  bool by_max = false;   ///< some by max
  bool divides = false;  ///< some by mean or sqrtn

  void add(Pooling pooling);
};

/// Returns whether what other ranks read lies apart from what they write, though this takes `excess` more than `all` of
/// the vectors that travel: if it is at most one part of so many.
inline constexpr int parts_of_excess = 16;
constexpr bool lie_apart(std::int64_t excess, std::int64_t all) { return excess * parts_of_excess <= all; }

/// Counts the arrays of vectors, and of their gradients, in both directions.
double bytes_of_vectors(const VectorBytes& vectors, const Pools& pools, RowTransfer transfer, const WireTypes& wire);

}  // namespace shardmark::placement
