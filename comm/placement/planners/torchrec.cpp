// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/planners/torchrec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "comm/placement/planners/torchrec_partition.hpp"
#include "reference/storage.hpp"

namespace shardmark::placement {
namespace {

enum class TorchrecDevice { cuda, cpu };
constexpr std::array torchrec_devices{Choice<TorchrecDevice>{"cuda", "", TorchrecDevice::cuda},
                                      Choice<TorchrecDevice>{"cpu", "", TorchrecDevice::cpu}};

TorchrecMachine estimate_machine(const PlannerSettings& settings) {
  constexpr double gib = 0x1p30, least = 1e-9;
  const bool cuda = choice_named(torchrec_devices, "device of planner 'torchrec'", settings.text("device")).value ==
                    TorchrecDevice::cuda;
  return {.memory = gib * settings.number(cuda ? "hbm" : "ddr", least),
          .intra = gib * settings.number("intra", least),
          .inter = gib * settings.number("inter", least),
          .half_block = settings.number("half_block"),
          .quarter_block = settings.number("quarter_block"),
          .backward = settings.number("backward"),
          .copy = settings.number("copy"),
          .elementwise = settings.number("elementwise")};
}

TorchrecStep estimate_step(const PlanRequest& request) {
  const PlannerSettings& settings = request.settings;
  TorchrecStep step{.ranks = request.ranks,
                    .node_size = std::min(request.node_size(), request.ranks),
                    .samples = static_cast<double>(request.global_batch) / request.ranks,
                    .wire = request.movement.wire};
  if (!settings.text("batch").empty()) step.samples = settings.number("batch", 1);
  if (!settings.text("pooling_factor").empty()) step.pooling_factor = settings.number("pooling_factor", 1e-9);
  return step;
}

double table_memory(const PlanRequest& request, std::span<const Feature> features, const TorchrecStep& step) {
  if (!request.memory) return std::numeric_limits<double>::infinity();
  double ids = 0.0;
  for (const Feature& feature : features)
    ids += step.samples * (step.pooling_factor > 0 ? step.pooling_factor : static_cast<double>(feature.hotness));
  return static_cast<double>(*request.memory) * (1.0 - request.settings.number("reserve")) -
         6.0 * request.settings.number("dense_bytes") - 20.0 * std::ceil(8.0 * ids);
}

/// The shardings of all tables, in the order in which one proposer takes them.
using TableOptions = std::vector<std::vector<TorchrecOption>>;
using Proposal = std::vector<const TorchrecOption*>;

TableOptions table_options(std::span<const Table> tables, std::span<const Feature> features, const TorchrecStep& step,
                           const TorchrecMachine& machine, std::int64_t least_columns) {
  std::vector<std::vector<Feature>> readers(tables.size());
  for (const Feature& feature : features) readers[feature.table].push_back(feature);
  TableOptions options(tables.size());
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const Table& table = tables[t];
    for (const auto& choice : torchrec_shardings) {
      const bool whole =
          choice.value == TorchrecSharding::data_parallel || choice.value == TorchrecSharding::table_wise;
      if (!storage_of(table).splits && !whole) continue;
      const auto shards = torchrec_shards(choice.value, table, step, least_columns);
      const auto bytes_of = [&](const Shard& shard) {
        return torchrec_storage(choice.value, table, readers[t], shard, step);
      };
      TorchrecOption option{.sharding = choice.value, .storage = bytes_of(shards.front())};
      option.seconds = torchrec_perf(choice.value, table, readers[t], shards.front().columns(), step, machine).total();
      const auto smaller = std::ranges::find_if(
          shards, [&](const Shard& shard) { return shard.rows.count() != shards.front().rows.count(); });
      option.shards = choice.value == TorchrecSharding::data_parallel ? step.ranks : static_cast<int>(shards.size());
      option.full = smaller == shards.end() ? option.shards : static_cast<int>(smaller - shards.begin());
      if (smaller != shards.end()) option.last_storage = bytes_of(*smaller);
      options[t].push_back(option);
    }
  }
  return options;
}

/// The best partition so far and what it is of.
class BestPartition {
 public:
  BestPartition(const TorchrecStep& step, double capacity) : step_(step), capacity_(capacity) {}

  /// Proposals that cannot be better, but for rounding, are not dealt.
  void consider(const Proposal& proposal) {
    constexpr double rounding = 1e-9;
    if (!shardings_.empty() && torchrec_least_seconds(proposal, step_) * (1 - rounding) >= best_.seconds) return;
    if (!torchrec_partition(proposal, step_, capacity_, next_)) return;
    if (!shardings_.empty() && next_.seconds >= best_.seconds) return;
    std::swap(best_, next_);
    shardings_.clear();
    for (const TorchrecOption* option : proposal) shardings_.push_back(option->sharding);
  }
  /// Returns the shardings by table; empty where nothing fits.
  const std::vector<TorchrecSharding>& shardings() const { return shardings_; }
  const TorchrecPartition& partition() const { return best_; }

 private:
  TorchrecStep step_;
  double capacity_;
  TorchrecPartition best_, next_;
  std::vector<TorchrecSharding> shardings_;
};

/// GreedyProposer, whose score of a sharding says what its slowest shard or all of them take.
template <class Score>
void propose_greedily(TableOptions options, const Score& score, std::int64_t most, BestPartition& search) {
  Proposal proposal;
  for (auto& of_table : options) {
    std::ranges::stable_sort(of_table, {}, score);
    proposal.push_back(&of_table.front());
  }
  const auto memory = [&](std::size_t t) { return std::pair(proposal[t]->storage, proposal[t]->all_storage()); };
  for (std::int64_t i = 0; i < most; ++i) {
    search.consider(proposal);
    std::optional<std::size_t> largest;
    for (std::size_t t = 0; t < options.size(); ++t)
      if (proposal[t] != &options[t].back() && (!largest || memory(t) > memory(*largest))) largest = t;
    if (!largest) return;
    ++proposal[*largest];
  }
}

void propose_uniformly(const TableOptions& options, BestPartition& search) {
  for (const auto& choice : torchrec_shardings) {
    Proposal proposal;
    for (const auto& of_table : options) {
      const auto found = std::ranges::find(of_table, choice.value, &TorchrecOption::sharding);
      if (found != of_table.end()) proposal.push_back(&*found);
    }
    if (proposal.size() == options.size()) search.consider(proposal);
  }
}

TablePlacement sharded(const Table& table, TorchrecSharding sharding, const std::vector<int>& ranks,
                       const TorchrecStep& step, std::int64_t least_columns) {
  TablePlacement placement{.data_parallel = sharding == TorchrecSharding::data_parallel, .shards = {}};
  if (placement.data_parallel) return placement;
  placement.shards = torchrec_shards(sharding, table, step, least_columns);
  for (std::size_t shard = 0; shard < ranks.size(); ++shard) placement.shards[shard].rank = ranks[shard];
  std::erase_if(placement.shards, [](const Shard& shard) { return shard.rows.count() == 0; });
  return placement;
}

/// Returns whether shard k is on the k-th of these neighbours, in any order of the shards.
bool on_all_of(const std::vector<Shard>& shards, int first, int ranks) {
  std::vector<bool> held(static_cast<std::size_t>(ranks));
  for (const Shard& shard : shards)
    if (shard.rank >= first && shard.rank < first + ranks) held[static_cast<std::size_t>(shard.rank - first)] = true;
  return std::ssize(shards) == ranks && std::ranges::count(held, false) == 0;
}

/// Returns how TorchRec shards a table that is placed so; nothing where it does not.
std::optional<TorchrecSharding> sharding_of(const Table& table, const TablePlacement& placement,
                                            const TorchrecStep& step) {
  if (placement.data_parallel) return TorchrecSharding::data_parallel;
  if (placement.hot_rows > 0 || placement.storage) return std::nullopt;
  const std::vector<Shard>& shards = placement.shards;
  const auto whole_rows = [&](const Shard& shard) { return shard.rows.count() == table.rows; };
  const auto whole_columns = [&](const Shard& shard) { return shard.columns() == table.dim; };
  if (std::ranges::all_of(shards, whole_rows))
    return shards.size() == 1 ? TorchrecSharding::table_wise : TorchrecSharding::column_wise;
  if (!std::ranges::all_of(shards, whole_columns)) return std::nullopt;
  if (on_all_of(shards, 0, step.ranks)) return TorchrecSharding::row_wise;
  const int first = shards.front().rank / step.node_size * step.node_size;
  return on_all_of(shards, first, step.node_size) ? std::optional(TorchrecSharding::table_row_wise) : std::nullopt;
}

}  // namespace

std::vector<TablePlacement> place_torchrec(std::span<const Table> tables, std::span<const Feature> features,
                                           const PlanRequest& request) {
  const TorchrecStep step = estimate_step(request);
  const double capacity = table_memory(request, features, step);
  const std::int64_t least_columns = request.settings.whole("least_columns", 1);
  const TableOptions options = table_options(tables, features, step, estimate_machine(request.settings), least_columns);

  BestPartition search(step, capacity);
  const std::int64_t most = request.settings.whole("proposals", 1);
  propose_greedily(options, &TorchrecOption::seconds, most, search);
  propose_greedily(
      options, [](const TorchrecOption& option) { return option.shards * option.seconds; }, most, search);
  propose_uniformly(options, search);
  if (search.shardings().empty() && !tables.empty())
    throw InputError(
        fmt::format("planner 'torchrec': no sharding fits the {:.0f} bytes that remain of a rank's memory "
                    "beside what is kept free (reserve, dense_bytes, ids); give it more memory or ranks",
                    capacity));
  std::vector<TablePlacement> placements;
  for (std::size_t t = 0; t < tables.size(); ++t)
    placements.push_back(sharded(tables[t], search.shardings()[t], search.partition().ranks[t], step, least_columns));
  return placements;
}

std::optional<double> torchrec_seconds(const Plan& plan, std::span<const Table> tables,
                                       std::span<const Feature> features, const PlanRequest& request) {
  const TorchrecStep step = estimate_step(request);
  const TorchrecMachine machine = estimate_machine(request.settings);
  std::vector<double> of_ranks(static_cast<std::size_t>(plan.ranks));
  double everywhere = 0.0;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const auto sharding = sharding_of(tables[t], plan.tables[t], step);
    if (!sharding) return std::nullopt;
    std::vector<Feature> readers;
    for (const Feature& feature : features)
      if (std::cmp_equal(feature.table, t)) readers.push_back(feature);
    const auto seconds = [&](std::int64_t columns) {
      return torchrec_perf(*sharding, tables[t], readers, columns, step, machine).total();
    };
    if (plan.tables[t].data_parallel) everywhere += seconds(tables[t].dim);
    for (const Shard& shard : plan.tables[t].shards)
      of_ranks[static_cast<std::size_t>(shard.rank)] += seconds(shard.columns());
  }
  return everywhere + std::ranges::max(of_ranks);
}

}  // namespace shardmark::placement
