// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"

namespace shardmark::placement {

/// Names the ways in which TorchRec shards a table: ShardingType but for grid_shard, which it takes only where a user
/// asks for it.
enum class TorchrecSharding { data_parallel, table_wise, column_wise, table_column_wise, row_wise, table_row_wise };

inline constexpr std::array torchrec_shardings{
    Choice<TorchrecSharding>{"data_parallel", "a copy on every rank", TorchrecSharding::data_parallel},
    Choice<TorchrecSharding>{"table_wise", "whole, on one rank", TorchrecSharding::table_wise},
    Choice<TorchrecSharding>{"column_wise", "equal blocks of columns on any ranks", TorchrecSharding::column_wise},
    Choice<TorchrecSharding>{"table_column_wise", "equal blocks of columns on ranks of one node",
                             TorchrecSharding::table_column_wise},
    Choice<TorchrecSharding>{"row_wise", "contiguous blocks of rows on all ranks", TorchrecSharding::row_wise},
    Choice<TorchrecSharding>{"table_row_wise", "contiguous blocks of rows on the ranks of one node",
                             TorchrecSharding::table_row_wise},
};
constexpr auto choices_of(TorchrecSharding) { return Choices{"TorchRec sharding", torchrec_shardings}; }

/// Holds what the estimate knows about the machine. Bandwidths are in bytes per second.
struct TorchrecMachine {
  double memory = 0.0;         ///< of a rank, of the tables
  double intra = 0.0;          ///< between ranks of a node
  double inter = 0.0;          ///< between nodes
  double half_block = 1.0;     ///< penalty for 64 to 127 columns
  double quarter_block = 1.0;  ///< and for fewer
  double backward = 1.0;       ///< time of the backward computation in forward ones
  double copy = 1.0;           ///< passes over memory of a gradient that is gathered
  double elementwise = 1.0;    ///< and of a replicated table that is updated
};

/// Describes the step that is estimated.
struct TorchrecStep {
  int ranks = 1;
  int node_size = 1;          ///< ranks of a node, at most `ranks`
  double samples = 1.0;       ///< of a rank
  double pooling_factor = 0;  ///< ids per bag; 0: the feature's hotness
  WireTypes wire = {};
};

/// Holds the seconds that a shard takes of a rank.
struct TorchrecPerf {
  double forward_compute = 0.0, forward_comms = 0.0, backward_compute = 0.0, backward_comms = 0.0;

  double total() const { return forward_compute + forward_comms + backward_compute + backward_comms; }
};

/// Estimates the seconds of a shard of `dim` columns of a table; all shards of a table take as long. With b samples of
/// a rank, P ranks, L of them on a node, n = b x the ids per sample of all features, o = b x the vectors per sample
/// (one per feature; one per id without pooling), s bytes of a value in the table and s_f, s_b on its way forward and
/// back, D columns of the table, d of the shard, and ids of 8 bytes:
///   table_wise, column_wise, table_column_wise
///     reads 8 n P + n P max(d, 32) s, writes o P d s_f, all of it x penalty / memory; sends o P d s_f / net
///   row_wise
///     reads 8 n + n d s, writes o P d s_f (without pooling o / P for o); sends what it writes / net
///   table_row_wise
///     reads (8 n + n d s) P / L, writes o P d s_f (o / L for o); sends that / intra and, with several nodes,
///     o P / L d s_f / inter
///   data_parallel
///     reads 8 n + n D s, writes o D s, at memory / 2; an all-reduce of rows D s (2 k - 1) / k / (L inter), with
///     k = min(P / L, 2), twice that for P > 2 L, and elementwise x rows D s / (memory / 2) for the update
/// net is intra where P <= L, else inter. Backward it takes `backward` times the forward computation, and sends the
/// same with s_b; row_wise and table_row_wise besides take copy x the gradients that they gather / memory.
///
/// The source is TorchRec, torchrec/distributed/planner/shard_estimators.py at a48cef7 (2025-10), with fused kernels
/// (dense ones of replicated tables) in device memory and without weights of ids. It leaves out ids on their way, skew
/// and distinct rows, latency.
TorchrecPerf torchrec_perf(TorchrecSharding sharding, const Table& table, std::span<const Feature> readers,
                           std::int64_t dim, const TorchrecStep& step, const TorchrecMachine& machine);

/// Returns the bytes that the shard takes of a rank: rows and state, ids that arrive and vectors that leave.
double torchrec_storage(TorchrecSharding sharding, const Table& table, std::span<const Feature> readers,
                        const Shard& shard, const TorchrecStep& step);

/// Returns the shards of a table on ranks 0, 1, ... (of the job, or of a node): blocks of ceil(rows / ranks) rows, the
/// last ones smaller or empty; blocks of columns as narrow as a divisor of dim that is a multiple of 4 and at least
/// least_columns; one shard that holds the table for data_parallel.
std::vector<Shard> torchrec_shards(TorchrecSharding sharding, const Table& table, const TorchrecStep& step,
                                   std::int64_t least_columns);

}  // namespace shardmark::placement
