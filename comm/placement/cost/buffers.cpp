// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/buffers.hpp"

#include <algorithm>

#include "comm/placement/traffic/replicated_gradients.hpp"
#include "reference/storage.hpp"

namespace shardmark::placement {
namespace {

double vector_bytes(std::int64_t columns) { return 4.0 * static_cast<double>(columns); }

}  // namespace

double asker_bytes(const WireTypes& wire, Dedup dedup, std::int64_t columns, const ShardCounts& own) {
  const double requested = asks_once(dedup) ? own.distinct_rows : own.ids, vector = vector_bytes(columns);
  double bytes = 76 * own.ids;             // keys, shards, their sort, indices, weights, offsets
  bytes += requested * (16 + 3 * vector);  // rows as they come and by group; gradients
  if (wire != WireTypes{}) bytes += requested * 2 * vector;
  return bytes;
}

double relay_bytes(std::int64_t columns, double rows) { return rows * (80 + 4 * vector_bytes(columns)); }

double holder_bytes(const WireTypes& wire, Dedup dedup, std::int64_t columns, double requested, double distinct) {
  const double vector = vector_bytes(columns);
  double bytes = owned_id_bytes(requested);
  if (wire != WireTypes{}) bytes += requested * 2 * vector;
  if (reads_once(dedup)) bytes += requested * 64 + distinct * (16 + vector);
  return bytes;
}

double hot_row_bytes(RowTransfer transfer, double bags, double ids) {
  return bags * 24 + (transfer == RowTransfer::unique_rows ? ids * 28 : 0.0);
}

double replica_bytes(const Table& table, std::int64_t rows) {
  const double sums = 8.0 * summed_values(table, rows);
  return storage_of(table).computes() ? sums : sums + 18.0 * static_cast<double>(rows);
}

double max_gradient_bytes(std::int64_t dim, bool parts, bool replicas) {
  return ((parts ? 1.0 : 0.0) + (replicas ? 1.0 : 0.0)) * vector_bytes(dim);
}

double summed_gradient_bytes(std::int64_t columns, double ids) { return ids * (16 + vector_bytes(columns)); }

void Pools::add(Pooling pooling) {
  by_max |= pooling == Pooling::max;
  divides |= reference::divides(pooling);
}

double bytes_of_vectors(const VectorBytes& vectors, const Pools& pools, RowTransfer transfer, const WireTypes& wire) {
  const double owner = vectors.owner + vectors.held, travelling = vectors.packed + owner;
  double bytes = vectors.behind + vectors.own_partials + travelling + travelling / parts_of_excess;  // lie_apart()
  if (vectors.behind < vectors.outputs) bytes += vectors.packed;  // their gradients, where outputs lie among them
  if (pools.by_max) bytes += 2 * owner + 2 * vectors.outputs;     // gradients, and those of single ids behind them
  if (pools.divides) bytes += vectors.outputs;                    // divided gradients
  bytes += (transfer == RowTransfer::reduce_scatter ? 2 : 1) * vectors.reduced;  // within MPI; our own rounds
  // Encoded, at both ends; and decoded again where the wire is watched.
  if (wire != WireTypes{}) bytes += travelling + std::max(vectors.packed, owner);
  return bytes;
}

}  // namespace shardmark::placement
