// SPDX-License-Identifier: Apache-2.0
// What a node has, against what is needed of it.
#include "workloads/measure/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/device_memory.hpp"
#include "comm/node_channels.hpp"
#include "comm/placement/cost/buffers.hpp"
#include "comm/placement/memory_fit.hpp"
#include "comm/placement/statistics/expected_counts.hpp"
#include "comm/placement/traffic/decisions.hpp"
#include "kernels/route/row_partition.hpp"
#include "reference/row_gradients.hpp"
#include "reference/storage.hpp"
#include "reference/work.hpp"
#include "workloads/batches/step_input.hpp"
#include "workloads/cases/placement_inputs.hpp"
#include "workloads/measure/control_groups.hpp"
#include "workloads/measure/dense/dense_memory.hpp"
#include "workloads/measure/timed_batches.hpp"
#include "workloads/tables/storages.hpp"

namespace shardmark::workloads {
namespace {

using placement::Movement, placement::Plan, placement::RowTransfer, placement::Shard, placement::ShardCounts,
    placement::TablePlacement;

/// Returns the most bytes that a rank has for a save: where rows come and go their keys with what lies beside them
/// (KeptKeys), and lists of those of all ranks (KeyLists); and behind steps copies of all of its rows (KeptRows).
double saved_bytes(const RunOptions& options, const Plan& plan, int rank) {
  if (options.save.empty()) return 0.0;
  const std::vector<Table>& tables = options.workload.tables;
  const bool behind = options.save_mode == SaveMode::behind;
  double bytes = behind ? table_bytes(plan, tables)[static_cast<std::size_t>(rank)] : 0.0;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const Table& table = tables[t];
    std::int64_t rows = has_replicas(plan.tables[t]) ? replicated_rows(plan.tables[t], table).count() : 0;
    for (const Shard& shard : plan.tables[t].shards)
      if (shard.rank == rank) rows += placement::HeldRows(shard.rows, table, static_cast<std::int64_t>(t)).most_rows();
    if (behind) bytes += static_cast<double>(sizeof(std::uint32_t)) * static_cast<double>(rows);
    if (!storage_of(table).comes_and_goes) continue;
    constexpr double list = 16.0;  // bytes of a key of any rank
    bytes += maker_of(table).bytes_beside(table, rows, 0) + list * static_cast<double>(table.most_rows());
  }
  return bytes;
}

/// Adds up what gradients of replicated tables and hot rows take, with pieces of the sums of few rows.
double dense_gradient_bytes(const Plan& plan, const std::vector<Table>& tables) {
  double bytes = 0.0;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const Table& table = tables[t];
    if (!has_replicas(plan.tables[t])) continue;
    const std::int64_t rows = replicated_rows(plan.tables[t], table).count();
    bytes += placement::replica_bytes(table, rows);
    if (!storage_of(table).computes()) bytes += 4.0 * static_cast<double>(few_row_sums(rows, table.dim, 2 * rows));
  }
  return bytes;
}

/// Returns the ids of some samples that look up rows of the table.
double ids_of(const Workload& workload, std::int64_t table, double samples) {
  double ids = 0.0;
  for (const Feature& feature : workload.features)
    if (feature.table == table) ids += samples * static_cast<double>(feature.hotness);
  return ids;
}

/// Returns the bytes of rows of one shard that travel one by one, at the rank that requests them. own: what its samples
/// look up in the shard.
double asker_bytes(const Movement& movement, const Shard& shard, const ShardCounts& own) {
  const double requested = asks_once(movement.dedup) ? own.distinct_rows : own.ids;
  const bool relays = movement.dedup == placement::Dedup::node || movement.dedup == placement::Dedup::automatic;
  return placement::asker_bytes(movement.wire, movement.dedup, shard.columns(), own) +
         (relays ? placement::relay_bytes(shard.columns(), requested) : 0.0);
}

/// Returns the bytes of the gradient of an id in arrays of all ids, where any feature pools by max.
double max_gradient_bytes(const Plan& plan, const Workload& workload) {
  std::int64_t dim = 0;
  bool parts = false, replicas = false;
  for (const Feature& feature : workload.features) {
    if (feature.pooling != Pooling::max) continue;
    dim = std::max(dim, workload.tables[feature.table].dim);
    parts = parts || !plan.tables[feature.table].shards.empty();
    replicas = replicas || has_replicas(plan.tables[feature.table]);
  }
  return placement::max_gradient_bytes(dim, parts, replicas);
}

/// Returns the bytes of gradients of distinct rows that are summed once for two uses, each in a place as wide as the
/// widest shard of the rank; 0 where holders of different columns exchange no sums. ids: of which the rank holds the
/// rows.
double summed_gradient_bytes(const Plan& plan, const Workload& workload, int rank, double ids) {
  bool exchanged = false;
  std::int64_t widest = 0;
  for (std::size_t t = 0; t < workload.tables.size(); ++t) {
    exchanged = exchanged || placement::exchanged_row_sums(workload.tables[t], plan.tables[t]) > 0;
    for (const Shard& shard : plan.tables[t].shards)
      if (shard.rank == rank) widest = std::max(widest, shard.columns());
  }
  return exchanged ? placement::summed_gradient_bytes(widest, ids) : 0.0;
}

/// Holds what the samples of this rank, and those of all ranks, are expected to look up in each shard.
struct StepCounts {
  double samples = 0.0;
  placement::PlanCounts own, all;
};

/// Counts the vectors of a step, and what travels to and from each rank.
struct StepVectors {
  placement::VectorBytes home;      ///< of this rank's samples
  std::vector<double> owner, held;  ///< by rank: that it sends home; rows of its shards that are asked for one by one
  std::vector<double> added;        ///< by rank: sums that it adds for its node

  placement::VectorBytes of_rank(int rank) const {
    placement::VectorBytes all = home;
    all.owner = owner[rank], all.held = held[rank], all.packed += added[rank];
    return all;
  }
  double largest_route() const { return std::max({home.packed, std::ranges::max(owner), std::ranges::max(held)}); }
};

/// Returns whether a shard lacks some of the rows that are not hot.
bool lacks_rows(const TablePlacement& placement, const Table& table, const Shard& shard) {
  return shard.rows.count() < table.rows - placement.hot_rows;
}

bool travels_by_rows(const Movement& movement, const TablePlacement& placed, const Table& table, const Shard& shard) {
  return lacks_rows(placed, table, shard) && movement.transfer == RowTransfer::unique_rows;
}

double held_rows(const Movement& movement, const ShardCounts& own, const ShardCounts& all, int ranks) {
  return asks_once(movement.dedup) ? ranks * own.distinct_rows : all.ids;
}

/// Adds the vectors of one shard.
void add_shard(const Movement& movement, const TablePlacement& placement, const Table& table, const Shard& shard,
               const ShardCounts& own, const ShardCounts& all, StepVectors& vectors) {
  const double vector = 4.0 * static_cast<double>(shard.columns());
  const bool split = lacks_rows(placement, table, shard);
  if (travels_by_rows(movement, placement, table, shard)) {
    vectors.held[shard.rank] += held_rows(movement, own, all, static_cast<int>(std::ssize(vectors.held))) * vector;
  } else if (split && adds_on_the_way(movement.transfer)) {
    if (shard.rows.begin > placement.hot_rows) return;  // the sums of a whole table, which every rank has a term of
    vectors.home.packed += own.bags * vector;
    for (double& owner : vectors.owner) owner += all.bags * vector;
    vectors.home.reduced += all.bags * vector;
  } else {
    const auto travelling =
        split && movement.transfer == RowTransfer::sparse_partials ? &ShardCounts::touched_bags : &ShardCounts::bags;
    vectors.home.packed += own.*travelling * vector;
    vectors.owner[shard.rank] += all.*travelling * vector;
  }
}

/// Holds by columns the ranks of the shards whose partial sums their nodes add, if any do (node_partials).
using Holders = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<int>>;

/// Adds the vectors of the columns that nodes add, and returns the ranks whose partial sums these are.
Holders add_node_sums(const Movement& movement, const TablePlacement& placement, const placement::Nodes& nodes,
                      double own_bags, double all_bags, StepVectors& vectors) {
  Holders holders, added;
  if (movement.transfer != RowTransfer::node_partials) return added;
  for (const Shard& shard : placement.shards) holders[{shard.column_begin, shard.column_end}].push_back(shard.rank);
  for (const auto& [columns, ranks] : holders) {
    const double vector = 4.0 * static_cast<double>(columns.second - columns.first);
    const std::vector<bool> adds = placement::nodes_that_add(nodes, ranks);
    for (int node = 0; node < nodes.count(); ++node) {
      if (!adds[node]) continue;
      vectors.home.packed += own_bags * vector;
      for (const int rank : nodes.ranks_of(node)) {
        added[columns].push_back(rank);
        vectors.owner[rank] += all_bags * vector;
        vectors.added[rank] += own_bags * nodes.count() * vector;
      }
    }
  }
  return added;
}

StepVectors vectors_of(const Plan& plan, const Workload& workload, const Movement& movement, const StepCounts& counts,
                       const placement::Nodes& nodes) {
  StepVectors vectors;
  vectors.owner.resize(plan.ranks);
  vectors.held.resize(plan.ranks);
  vectors.added.resize(plan.ranks);
  for (std::int64_t t = 0; t < std::ssize(workload.tables); ++t) {
    const TablePlacement& placement = plan.tables[t];
    const auto& shards = placement.shards;
    const double outputs = 4.0 * counts.own[t].front().bags * static_cast<double>(workload.tables[t].dim);
    vectors.home.outputs += outputs;
    if (kind_of(placement) != "table_wise") vectors.home.behind += outputs;
    if (placement.hot_rows > 0)
      vectors.home.own_partials += (movement.transfer == RowTransfer::unique_rows ? 2 : 1) * outputs;
    Holders added =
        add_node_sums(movement, placement, nodes, counts.own[t].front().bags, counts.all[t].front().bags, vectors);
    for (std::size_t s = 0; s < shards.size(); ++s)
      if (std::ranges::count(added[{shards[s].column_begin, shards[s].column_end}], shards[s].rank) == 0)
        add_shard(movement, placement, workload.tables[t], shards[s], counts.own[t][s], counts.all[t][s], vectors);
  }
  return vectors;
}

/// Returns the bytes that a table that is kept whole takes on the rank that looks up its rows: the one that holds it,
/// or every one for its own samples.
double whole_table_bytes(const Plan& plan, const Workload& workload, std::int64_t table, int rank,
                         const StepCounts& counts) {
  const auto bytes = maker_of(workload.tables[table]).step_bytes;
  const auto has = [&](std::size_t t) {
    return plan.tables[t].data_parallel || plan.tables[t].shards.front().rank == rank;
  };
  if (!bytes || !has(static_cast<std::size_t>(table))) return 0.0;
  const ShardCounts& looked_up = (plan.tables[table].data_parallel ? counts.own : counts.all)[table].front();
  // Tables of one storage share a store, whose arrays have room for the widest of them, read or not.
  double most = 0.0;
  for (std::size_t t = 0; t < workload.tables.size(); ++t)
    if (workload.tables[t].storage == workload.tables[table].storage && has(t))
      most = std::max(most, bytes(workload.tables[t], looked_up.ids, looked_up.distinct_rows));
  return most;
}

/// Returns the bytes of the owners of the buckets of a table whose rows come and go, for the strips of its features.
double bucket_owner_bytes(const TablePlacement& placement, const Workload& workload, std::int64_t table) {
  if (!storage_of(workload.tables[table]).comes_and_goes) return 0.0;
  std::set<std::int64_t> strips;
  for (const Shard& shard : placement.shards) strips.insert(shard.column_begin);
  const auto readers = std::ranges::count(workload.features, table, &Feature::table);
  return static_cast<double>(key_buckets * sizeof(kernels::RowOwner) * strips.size() * readers);
}

/// Returns the bytes of numbering so many ids of tables of any keys (kernels::KeyNumbers).
constexpr double number_bytes(double ids) { return 64.0 * ids; }

/// Returns the bytes that a case allocates for its steps.
double step_bytes(const comm::Communicator& comm, const Plan& plan, const Workload& workload, const Case& config,
                  const StepCounts& counts) {
  const Movement& movement = config.movement;
  if (movement.transfer == RowTransfer::automatic) {
    double most = 0.0;
    for (const placement::TransferChoice& transfer : placement::transfers) {
      if (!placement::is_candidate(transfer, comm.nodes() > 1)) continue;
      Case one = config;
      one.movement.transfer = transfer.value;
      most = std::max(most, step_bytes(comm, plan, workload, one, counts));
    }
    return most;
  }
  const StepVectors vectors = vectors_of(plan, workload, movement, counts, placement::Nodes(comm.node_of()));
  placement::Pools pools;
  for (const Feature& feature : workload.features) pools.add(feature.pooling);
  double bytes = placement::bytes_of_vectors(vectors.of_rank(comm.rank()), pools, movement.transfer, movement.wire);
  double held_ids = 0.0;
  const double of_max = max_gradient_bytes(plan, workload);
  for (std::int64_t t = 0; t < std::ssize(workload.tables); ++t) {
    const Table& table = workload.tables[t];
    const double ids = ids_of(workload, t, counts.samples);
    bytes += placement::own_id_bytes(ids) + ids * of_max + bucket_owner_bytes(plan.tables[t], workload, t);
    if (plan.tables[t].hot_rows > 0)
      bytes += placement::hot_row_bytes(movement.transfer, counts.own[t].back().bags, ids);
    if (!storage_of(table).splits) bytes += whole_table_bytes(plan, workload, t, comm.rank(), counts);
    for (std::int64_t s = 0; s < std::ssize(plan.tables[t].shards); ++s) {
      const Shard& shard = plan.tables[t].shards[s];
      const ShardCounts &own = counts.own[t][s], &all = counts.all[t][s];
      const bool by_rows = travels_by_rows(movement, plan.tables[t], table, shard);
      if (by_rows) bytes += asker_bytes(movement, shard, own) + (table.any_key ? number_bytes(own.ids) : 0.0);
      if (shard.rank != comm.rank()) continue;
      const double held = by_rows ? held_rows(movement, own, all, plan.ranks) : all.ids;
      held_ids += held;
      if (const auto of_step = maker_of(table).step_bytes; of_step && storage_of(table).splits)
        bytes += of_step(table, held, all.distinct_rows);
      bytes += by_rows
                   ? placement::holder_bytes(movement.wire, movement.dedup, shard.columns(), held, all.distinct_rows)
                   : placement::owned_id_bytes(held);
    }
  }
  if (has_any_keys(workload.tables)) bytes += number_bytes(held_ids);
  bytes += held_ids * of_max + summed_gradient_bytes(plan, workload, comm.rank(), held_ids);
  const comm::ExchangeChoice& exchange = *config.exchange.choice;
  const auto groups =
      placement::count_groups(placement::group_of_tables(config.groups, plan, workload.tables, workload.features));
  constexpr double small_arrays = 128e3;  // of a group, whatever its tables
  const double channels = movement.transfer == RowTransfer::node_partials ? comm::NodeChannels::has(comm) : 0.0;
  return placement::room_to_grow * bytes + exchange.keeps(comm, config.exchange.number) * vectors.largest_route() +
         static_cast<double>(groups) * (exchange.has(comm) + channels + small_arrays);
}

/// Returns how many different vectors are among the expected outputs of a feature in so many samples, of which
/// `distinct` rows are named.
double distinct_outputs(const Workload& workload, const Feature& feature, double samples, double distinct) {
  const double bags = samples * static_cast<double>(bags_per_sample(feature));
  const bool rows =
      feature.pooling == Pooling::none || (feature.hotness == bags_per_sample(feature) && !workload.ids.ragged);
  return rows && !workload.ids.weighted ? std::min(bags, distinct) : bags;
}

/// Returns the bytes of the parts of a table in the reference: their initial values; of those that so many rows touch
/// the values and state with bounds, also as copies to compare, and three times in double the values and the sums of
/// their gradients (BoundedTt).
double part_bytes(const Table& table, double rows) {
  double bytes = 0.0;
  for (const Table& part : storage_of(table).parts(table)) {
    const auto all = static_cast<double>(part.rows), size = static_cast<double>(part.dim);
    const auto state = static_cast<double>(state_per_row(part.optimizer.kind, part.dim));
    bytes += 8 * all * size + std::min(all, rows) * (24 * (size + state) + 48 * size);
  }
  return bytes;
}

/// Returns the bytes of the reference, which every rank runs for all samples of all batches (check.hpp): the rows that
/// they touch, with state and bounds, the expected outputs of this rank's samples, the global batch, and for a while
/// either the gradients of a table or copies of its rows, to compare them. versions: of the tables for which outputs
/// are kept.
double reference_bytes(const RunOptions& options, std::int64_t batches, std::int64_t samples, double versions) {
  const Workload& workload = options.workload;
  const Plan whole{.name = {}, .ranks = 1, .tables = std::vector(workload.tables.size(), TablePlacement{true, {}})};
  const auto distinct = [&](std::int64_t some) {
    std::vector<double> rows;
    for (const auto& shards :
         placement::expected_counts(whole, workload.tables, workload.features, some, id_statistics_of(workload.ids)))
      rows.push_back(shards.front().distinct_rows);
    return rows;
  };
  const auto own = distinct(samples), touched = distinct(batches * workload.global_batch),
             of_step = distinct(workload.global_batch);
  constexpr double grown = 1.5, growing = 2.0;  // of vectors that have grown by doubling, and while they do
  double kept = 0.0, passing = 0.0, of_batch = 0.0;
  for (std::size_t t = 0; t < touched.size(); ++t) {
    const Table& table = workload.tables[t];
    const auto row = static_cast<double>(table.dim + state_per_row(table.optimizer.kind, table.dim));
    const bool computes = storage_of(table).computes();  // of whose rows those of one step are there
    const double rows = computes ? of_step[t] : touched[t];
    kept += grown * rows * (8 * row + 80) + (computes ? grown * part_bytes(table, touched[t]) : 0.0);
    passing = std::max({passing, rows * (16 * row + 80),
                        growing * of_step[t] * static_cast<double>(table.dim) * sizeof(reference::GradientSum)});
  }
  const bool nested = std::ranges::any_of(workload.features, [](const Feature& f) { return f.segments > 0; });
  for (const Feature& feature : workload.features) {
    const auto bags = static_cast<double>(samples * bags_per_sample(feature));
    const double vectors = distinct_outputs(workload, feature, static_cast<double>(samples), own[feature.table]);
    kept += versions * static_cast<double>(batches) *
            (8 * bags + 8 * vectors * static_cast<double>(workload.tables[feature.table].dim));
    of_batch += static_cast<double>(workload.global_batch) *
                static_cast<double>(8 + 24 * feature.hotness +
                                    (nested ? 8 + 8 * std::max<std::int64_t>(feature.segments, 1) : 0));
  }
  return options.checked_steps == 0 ? 0.0 : kept + passing + of_batch;
}

}  // namespace

NeededMemory memory_needed(const comm::Communicator& comm, const Plan& plan, const RunOptions& options,
                           std::span<const Case> cases) {
  const Workload& workload = options.workload;
  const auto counts_of = [&](std::int64_t samples) {
    return placement::expected_counts(plan, workload.tables, workload.features, samples,
                                      id_statistics_of(workload.ids));
  };
  const std::int64_t samples = samples_of(workload.global_batch, plan.ranks, comm.rank()).count;
  const StepCounts counts{static_cast<double>(samples), counts_of(samples), counts_of(workload.global_batch)};
  double largest_case = 0.0, versions = 1.0, flights = 1.0;
  for (const Case& config : cases) {
    const double bytes = step_bytes(comm, plan, workload, config, counts) + dense_gradient_bytes(plan, workload.tables);
    largest_case =
        std::max(largest_case, most_flights(config.async) * bytes + patch_bytes(comm, plan, workload, config));
    flights = std::max(flights, most_flights(config.async));
    versions = std::max(versions, 1.0 + static_cast<double>(config.async.most_stale()));
  }
  double outputs = 0.0, ids = 0.0;
  for (std::int64_t t = 0; t < std::ssize(workload.tables); ++t) {
    outputs += 4.0 * counts.own[t].front().bags * static_cast<double>(workload.tables[t].dim);
    ids += ids_of(workload, t, counts.samples);
  }
  const std::int64_t batches = most_batches(options, bytes_of_batch(outputs / 4, ids));
  const double read = options.data.reading == DataReading::steps ? flights * bytes_of_batch(outputs / 4, ids) : 0.0;
  const NeededMemory dense = dense_bytes(options, plan.ranks, samples);
  return {.arrays = table_bytes(plan, workload.tables)[comm.rank()] + largest_case + read +
                    input_bytes(options, {batches, samples, outputs, ids}) + dense.arrays,
          .host = reference_bytes(options, batches, samples, versions) + dense.host +
                  saved_bytes(options, plan, comm.rank())};
}

namespace {

/// Returns a name that differs between kernels that run, not between the containers of one; empty where it cannot be
/// read.
std::string name_of_kernel() {
  std::string name;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), name);
  return name;
}

}  // namespace

std::int64_t memory_of_node(const comm::Communicator& comm) {
  const auto kernels = comm::all_gather(comm, name_of_kernel());
  std::set<int> nodes{comm.node_of(comm.rank())};
  for (int r = 0; r < comm.size(); ++r)
    if (!kernels[r].empty() && kernels[r] == kernels[comm.rank()]) nodes.insert(comm.node_of(r));
  return comm::agree(comm, [&] { return memory_available(static_cast<int>(nodes.size())); });
}

namespace {

/// Is a memory that some ranks share: that of their node, or of their GPU.
struct SharedMemory {
  std::string name;          ///< "node"
  std::vector<int> sharers;  ///< with this rank
  double available = 0.0;
};

SharedMemory node_memory(const comm::Communicator& comm) {
  const auto ranks = comm.ranks_of(comm.node_of(comm.rank()));
  return {"node", {ranks.begin(), ranks.end()}, static_cast<double>(memory_of_node(comm))};
}

/// Returns the memory that arrays of steps lie in.
SharedMemory array_memory(const comm::Communicator& comm) {
  if (!comm::built_for_gpus()) return node_memory(comm);
  const comm::GpuMemory gpu = comm::gpu_memory(comm);
  return {"GPU", gpu.sharers, static_cast<double>(gpu.free)};
}

}  // namespace

std::int64_t memory_of_rank(const comm::Communicator& comm) {
  const SharedMemory memory = array_memory(comm);
  return static_cast<std::int64_t>(memory.available) / std::ssize(memory.sharers);
}

double most_flights(const Async& async) {
  if (!async.on()) return 1.0;
  if (async.inlined()) return 2.0;
  const std::int64_t threads = Async::most_threads(async.threads);
  return static_cast<double>(threads + async.room(threads) + 2 + (async.threads > 0 ? 0 : 1));
}

double patch_bytes(const comm::Communicator& comm, const placement::Plan& plan, const Workload& workload,
                   const Case& config) {
  if (config.async.mode != AsyncMode::patched || config.async.inlined()) return 0.0;
  double rows = 0.0, vectors = 0.0, bags = 0.0;
  const double batch = static_cast<double>(workload.global_batch);
  for (std::size_t t = 0; t < workload.tables.size(); ++t) {
    const placement::TablePlacement& placement = plan.tables[t];
    if (placement::has_replicas(placement))
      rows += static_cast<double>(placement::replicated_rows(placement, workload.tables[t]).count());
    double bags_of_sample = 0.0;
    for (const Feature& feature : workload.features)
      if (feature.table == static_cast<std::int64_t>(t))
        bags_of_sample += static_cast<double>(bags_per_sample(feature));
    for (const placement::Shard& shard : placement.shards) {
      const double home = bags_of_sample * batch / plan.ranks,
                   owner = shard.rank == comm.rank() ? bags_of_sample * batch : 0.0;
      if (shard.rank == comm.rank()) rows += static_cast<double>(shard.rows.count());
      bags += home + owner;
      vectors += (home + owner) * 4 * static_cast<double>(shard.columns());
    }
  }
  return 4 * rows +
         most_flights(config.async) * (vectors + 160 * bags);  // runs of bags, blocks, copies: lists of both ends
}

std::vector<double> table_bytes(const placement::Plan& plan, const std::vector<Table>& tables) {
  std::vector<double> bytes(static_cast<std::size_t>(plan.ranks));
  double copied = 0.0;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (placement::has_replicas(plan.tables[t]))
      copied += storage_bytes(tables[t], placement::replicated_rows(plan.tables[t], tables[t]).count(), tables[t].dim);
    for (const placement::Shard& shard : plan.tables[t].shards)
      bytes[shard.rank] += storage_bytes(
          tables[t], placement::HeldRows(shard.rows, tables[t], static_cast<std::int64_t>(t)), shard.columns());
  }
  for (double& of_rank : bytes) of_rank += copied;
  return bytes;
}

void require_memory(const comm::Communicator& comm, double bytes_per_rank, std::string_view command,
                    std::string_view remedy) {
  const SharedMemory memory = array_memory(comm);
  comm::agree(comm, [&] {
    const double needed = bytes_per_rank * static_cast<double>(memory.sharers.size());
    if (needed > memory.available)
      throw InputError(fmt::format("{}: {} ranks of a {} need {:.1f} GB, it has {:.1f}; use {}", command,
                                   memory.sharers.size(), memory.name, needed * 1e-9, memory.available * 1e-9, remedy));
  });
}

namespace {

/// Returns the smallest N with which a memory of which `needed` bytes are wanted, `tables` of them for tables of
/// 1/scale of their rows, has enough of them with --scale 1/N; 0: no N is enough.
std::int64_t scale_that_fits(double needed, double tables, double available, std::int64_t scale) {
  const double left_for_tables = available - (needed - tables);
  if (left_for_tables <= 0.0) return 0;
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(static_cast<double>(scale) * tables / left_for_tables)));
}

/// Throws unless the memory has what its ranks need, `own` bytes on this one. tables: bytes of the tables in it, by
/// rank; empty: it holds none.
void require_fit_in(const comm::Communicator& comm, const SharedMemory& memory, const Plan& plan,
                    const RunOptions& options, double own, const std::vector<double>& tables) {
  const auto needed = comm::all_gather(comm, own);
  double of_all = 0.0, of_tables = 0.0;
  for (const int r : memory.sharers) {
    of_all += needed[r];
    of_tables += tables.empty() ? 0.0 : tables[r];
  }
  const auto room = comm::all_gather(comm, memory.available - of_all);
  const auto scales = comm::all_gather(
      comm, room[comm.rank()] >= 0.0 ? std::int64_t{1}
                                     : scale_that_fits(of_all, of_tables, memory.available, options.workload.scale));
  const std::int64_t scale = std::ranges::count(scales, 0) > 0 ? 0 : std::ranges::max(scales);
  comm::agree(comm, [&] {
    const int rank = comm.rank();
    if (room[rank] >= 0.0) return;
    throw InputError(
        fmt::format("plan {} needs {:.1f} GB of memory on this rank and {:.1f} GB on its {}, which has {:.1f} GB "
                    "left; {}; or use more nodes, another plan, {}",
                    plan.name, own * 1e-9, of_all * 1e-9, memory.name, memory.available * 1e-9,
                    placement::relief(plan, options.workload.tables, rank, room),
                    scale > 0 ? fmt::format("or --scale 1/{}, which fits", scale) : "or a smaller --batch"));
  });
}

}  // namespace

void require_memory(const comm::Communicator& comm, const placement::Plan& plan, const RunOptions& options,
                    std::span<const Case> cases) {
  const NeededMemory needed = memory_needed(comm, plan, options, cases);
  const auto tables = table_bytes(plan, options.workload.tables);
  if (!comm::built_for_gpus()) return require_fit_in(comm, node_memory(comm), plan, options, needed.all(), tables);
  require_fit_in(comm, array_memory(comm), plan, options, needed.arrays, tables);
  require_fit_in(comm, node_memory(comm), plan, options, needed.host, {});
}

}  // namespace shardmark::workloads
