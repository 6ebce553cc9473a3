// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "comm/placement/plan.hpp"
#include "comm/placement/statistics/plan_counts.hpp"
#include "comm/placement/traffic/dedup.hpp"
#include "comm/placement/traffic/movement.hpp"
#include "reference/wire_rounding.hpp"

namespace shardmark::placement {

// Bytes of the arrays of a step on one rank, by what they hold. What a planner keeps free for a table (TableWork) and
// what a run must have before it starts (workloads/measure/memory.hpp) are sums of these. Bounds from above, which
// tests hold against what is allocated.

/// An array grows by a fifth more than is asked for (kernels::Scratch), and ids vary from step to step.
inline constexpr double room_to_grow = 1.2;

/// Ids of the rank's own samples, their keys and the sort of these.
constexpr double own_id_bytes(double ids) { return 92 * ids; }

/// Ids that the rank pools rows for, their keys and the sort of these.
constexpr double owned_id_bytes(double ids) { return 80 * ids; }

/// Rows of a shard that travel one by one, at the rank that asks for them. own: what its samples look up in the shard.
double asker_bytes(const WireTypes& wire, Dedup dedup, std::int64_t columns, const ShardCounts& own);

/// The same at the rank that hands them on between its node and their owner (Dedup::node).
double relay_bytes(std::int64_t columns, double rows);

/// The same at their owner, beside the vectors. asked: rows that it is asked for; distinct: different ones.
double holder_bytes(const WireTypes& wire, Dedup dedup, std::int64_t columns, double asked, double distinct);

/// Lists of hot rows and of those beside them. bags, ids: of the rank's own samples, in the table.
double hot_row_bytes(RowTransfer transfer, double bags, double ids);

/// Dense sums of the gradients of so many replicated rows and MPI's copy of these; a list of those that were touched,
/// which may be all, as words and segments with room to grow. Computed rows have no such list.
double replica_bytes(const Table& table, std::int64_t rows);

/// What the gradient of an id takes where features pool by max, of at most `dim` columns: a vector in an array of all
/// ids for the shards that hold parts of tables, and one in an array for replicated rows.
double max_gradient_bytes(std::int64_t dim, bool parts, bool replicas);

/// Gradients of distinct rows that are summed before holders of other columns are told sums of them. ids: of which the
/// rank holds the rows; columns: of its widest shard.
double summed_gradient_bytes(std::int64_t columns, double ids);

/// Bytes of the vectors of some tables in fp32, which are those of their gradients too (StepLayout).
struct VectorBytes {
  double outputs = 0.0;       ///< of the rank's own samples
  double behind = 0.0;        ///< outputs that are put together behind the packed vectors
  double packed = 0.0;        ///< that come home
  double own_partials = 0.0;  ///< of hot rows; of others beside them that came one by one
  double reduced = 0.0;       ///< partial sums that are added on the way
  double owner = 0.0;         ///< that the rank sends home
  double held = 0.0;          ///< rows of its shards that are asked for one by one

  VectorBytes& operator+=(const VectorBytes& other);
};

/// How the features of some tables pool.
struct Pools {
  bool by_max = false;   ///< some by max
  bool divides = false;  ///< some by mean or sqrtn

  void add(Pooling pooling);
};

/// Arrays of vectors on their ways forward and back.
double bytes_of_vectors(const VectorBytes& vectors, const Pools& pools, RowTransfer transfer, const WireTypes& wire);

}  // namespace shardmark::placement
