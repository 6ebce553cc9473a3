// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/planners/torchrec_estimate.hpp"

#include <algorithm>
#include <cmath>

namespace shardmark::placement {
namespace {

constexpr double id_bytes = 8.0;

/// Counts the lookups of a rank's samples, by all features that read a table.
struct RankLookups {
  double ids = 0.0;
  double vectors = 0.0;
  bool pooled = true;

  RankLookups(std::span<const Feature> readers, const TorchrecStep& step) {
    for (const Feature& feature : readers) {
      const double of_bag = step.pooling_factor > 0 ? step.pooling_factor : static_cast<double>(feature.hotness);
      const bool sequence = feature.pooling == Pooling::none;
      ids += of_bag * step.samples;
      vectors += (sequence ? of_bag : static_cast<double>(bags_per_sample(feature))) * step.samples;
      pooled &= !sequence;
    }
  }
};

double bytes_of_value(ValueType type, std::int64_t dim) {
  return static_cast<double>(row_bytes(type, dim)) / static_cast<double>(dim);
}

/// Holds the bytes that are read and written, and that travel in each direction.
struct MovedBytes {
  double computed = 0.0, forward = 0.0, backward = 0.0;
};

/// `ids` are looked up and `values` values leave as sums; both of all samples.
MovedBytes moved_bytes(double ids, double width, double values, const Table& table, const TorchrecStep& step) {
  const double forward = values * bytes_of_value(step.wire.forward, table.dim);
  return {.computed = std::ceil(ids * id_bytes) + ids * width * bytes_of_value(table.value_type, table.dim) + forward,
          .forward = forward,
          .backward = values * bytes_of_value(step.wire.backward, table.dim)};
}

TorchrecPerf of_columns(const Table& table, const RankLookups& lookups, double dim, const TorchrecStep& step,
                        const TorchrecMachine& machine) {
  const MovedBytes bytes =
      moved_bytes(lookups.ids * step.ranks, std::max(dim, 32.0), lookups.vectors * step.ranks * dim, table, step);
  const double penalty = dim >= 128 ? 1.0 : dim >= 64 ? machine.half_block : machine.quarter_block;
  const double forward = bytes.computed * penalty / machine.memory;
  const double network = step.ranks <= step.node_size ? machine.intra : machine.inter;
  return {forward, bytes.forward / network, forward * machine.backward, bytes.backward / network};
}

TorchrecPerf of_rows(const Table& table, const RankLookups& lookups, double dim, const TorchrecStep& step,
                     const TorchrecMachine& machine) {
  const double vectors = lookups.pooled ? lookups.vectors * step.ranks : lookups.ids;
  const MovedBytes bytes = moved_bytes(lookups.ids, dim, vectors * dim, table, step);
  const double forward = bytes.computed / machine.memory;
  const double network = step.ranks <= step.node_size ? machine.intra : machine.inter;
  return {forward, bytes.forward / network, forward * machine.backward,
          bytes.backward / network + bytes.backward * machine.copy / machine.memory};
}

TorchrecPerf of_node_rows(const Table& table, const RankLookups& lookups, double dim, const TorchrecStep& step,
                          const TorchrecMachine& machine) {
  const double ranks = step.ranks, nodes = ranks / step.node_size;
  const double vectors = lookups.pooled ? lookups.vectors : lookups.ids / step.node_size;
  const MovedBytes bytes = moved_bytes(lookups.ids * nodes, dim, vectors * ranks * dim, table, step);
  const MovedBytes between =
      step.ranks > step.node_size ? moved_bytes(0.0, dim, vectors * nodes * dim, table, step) : MovedBytes{};
  const double between_network = nodes < 2 ? machine.intra : machine.inter;
  const double forward = bytes.computed / machine.memory;
  return {forward, bytes.forward / machine.intra + between.forward / between_network, forward * machine.backward,
          bytes.backward / machine.intra + between.backward / between_network +
              bytes.backward * machine.copy / machine.memory};
}

TorchrecPerf of_copy(const Table& table, const RankLookups& lookups, const TorchrecStep& step,
                     const TorchrecMachine& machine) {
  const double width = static_cast<double>(table.dim), value = bytes_of_value(table.value_type, table.dim);
  const double memory = machine.memory / 2;
  const double forward = (std::ceil(lookups.ids * id_bytes) + (lookups.ids + lookups.vectors) * width * value) / memory;
  const double size = static_cast<double>(table.rows) * width * value;
  const double nodes = std::min(static_cast<double>(step.ranks) / step.node_size, 2.0);
  const double reduced = size * (2 * nodes - 1) / nodes / (machine.inter * step.node_size);
  return {forward, 0.0, forward * machine.backward,
          (step.ranks > 2 * step.node_size ? 2 * reduced : reduced) + size * machine.elementwise / memory};
}

std::vector<Shard> row_blocks(const Table& table, int ranks) {
  std::vector<Shard> shards;
  for (int rank = 0; rank < ranks; ++rank) shards.push_back({row_block(table.rows, ranks, rank), 0, table.dim, rank});
  return shards;
}

std::vector<Shard> column_blocks(const Table& table, std::int64_t least) {
  std::int64_t width = std::min(least, table.dim);
  while (width < table.dim && (table.dim % width != 0 || width % 4 != 0)) ++width;
  std::vector<Shard> shards;
  for (std::int64_t begin = 0; begin < table.dim; begin += width)
    shards.push_back({{0, table.rows, 1}, begin, begin + width, static_cast<int>(shards.size())});
  return shards;
}

}  // namespace

TorchrecPerf torchrec_perf(TorchrecSharding sharding, const Table& table, std::span<const Feature> readers,
                           std::int64_t dim, const TorchrecStep& step, const TorchrecMachine& machine) {
  const RankLookups lookups(readers, step);
  const auto width = static_cast<double>(dim);
  switch (sharding) {
    case TorchrecSharding::data_parallel:
      return of_copy(table, lookups, step, machine);
    case TorchrecSharding::row_wise:
      return of_rows(table, lookups, width, step, machine);
    case TorchrecSharding::table_row_wise:
      return of_node_rows(table, lookups, width, step, machine);
    default:
      return of_columns(table, lookups, width, step, machine);
  }
}

double torchrec_storage(TorchrecSharding sharding, const Table& table, std::span<const Feature> readers,
                        const Shard& shard, const TorchrecStep& step) {
  if (shard.rows.count() == 0) return 0.0;
  const RankLookups lookups(readers, step);
  // Of all ranks' samples: the part of the ids that arrives at a shard, and of vectors without pooling.
  double part = 1.0;
  if (sharding == TorchrecSharding::data_parallel) part = 1.0 / step.ranks;
  if (sharding == TorchrecSharding::row_wise) part = 1.0 / step.ranks;
  if (sharding == TorchrecSharding::table_row_wise) part = 1.0 / step.node_size;
  const bool partial_sums = lookups.pooled && sharding != TorchrecSharding::data_parallel;
  const double ids = lookups.ids * step.ranks * part;
  const double vectors = lookups.vectors * step.ranks * (partial_sums ? 1.0 : part);
  return static_cast<double>(load_of(shard, table).bytes()) + std::ceil(ids * id_bytes) +
         std::ceil(vectors * static_cast<double>(shard.columns()) * bytes_of_value(table.value_type, table.dim));
}

std::vector<Shard> torchrec_shards(TorchrecSharding sharding, const Table& table, const TorchrecStep& step,
                                   std::int64_t least_columns) {
  switch (sharding) {
    case TorchrecSharding::row_wise:
      return row_blocks(table, step.ranks);
    case TorchrecSharding::table_row_wise:
      return row_blocks(table, step.node_size);
    case TorchrecSharding::column_wise:
    case TorchrecSharding::table_column_wise:
      return column_blocks(table, least_columns);
    default:
      return {whole(table, 0)};
  }
}

}  // namespace shardmark::placement
