// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/embedding.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "comm/node_memory.hpp"
#include "kernels/lookup/bag_divisor.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark::workloads {
namespace {

/// Makes an inline one for one group.
comm::ProgressThread progress_of(const comm::Communicator& comm, std::int64_t groups) {
  return groups == 1 ? comm::ProgressThread() : comm::ProgressThread(waiting_beside_compute(comm));
}

bool lie_at_home(const Group& group) {
  const Case& config = group.config;
  const auto dense = [](placement::RowTransfer mode) { return mode == placement::RowTransfer::dense_partials; };
  return host_reaches_arrays &&
         placement::may_lie_at_home(*config.exchange.choice, group.comm.nodes(), config.groups.groups,
                                    config.async.on(), config.movement.wire, group.tables.features()) &&
         std::ranges::all_of(group.modes, dense) && comm::NodeMemory::unusable(group.comm).empty();
}

/// On a device it follows the stream of the kernels, if the exchange can and one thread launches them: where several
/// do, that stream could keep back what another rank waits for in another exchange, and each rank the other.
std::unique_ptr<comm::Exchange> make_exchange(const comm::Communicator& comm, const Case& config) {
  if (host_reaches_arrays) return config.exchange.make(comm);
  auto exchange = config.exchange.make_for_gpus(comm);
  if (!config.async.on()) exchange->follow(kernel_stream());
  return exchange;
}

std::string_view reduction_in_effect(const comm::Communicator& comm, const Case& config) {
  const comm::ExchangeChoice& choice = *config.exchange.choice;
  const bool stands_for_another = choice.chooses && !host_reaches_arrays;
  return (stands_for_another ? *comm::automatic_for_gpus(comm).choice : choice).reduction;
}

/// Sets what follows from the layout and the modes. Collective.
void complete(Group& group) {
  group.at_home = lie_at_home(group);
  group.own_stays = placement::own_part_stays(group.config.movement.wire, group.tables.features());
  group.counts_follow_ids = std::ranges::any_of(group.modes, [](placement::RowTransfer mode) {
    return mode == placement::RowTransfer::sparse_partials || mode == placement::RowTransfer::unique_rows;
  });
}

}  // namespace

Embedding::Embedding(const comm::Communicator& comm, ShardedTables& tables, const placement::Plan& plan,
                     const Case& config, const placement::Decisions& decided, Fault fault)
    : comm_(comm),
      tables_(tables),
      config_(config),
      decided_(decided),
      fault_(fault),
      wire_(config.movement.wire, placement::id_type(config.movement.wire_ids, plan, tables.tables())),
      reduction_(reduction_in_effect(comm, config_)),
      group_of_table_(placement::group_of_tables(config.groups, plan, tables.tables(), tables.features())),
      progress_(progress_of(comm, placement::count_groups(group_of_table_))) {
  const std::int64_t count = placement::count_groups(group_of_table_);
  for (std::int64_t g = 0; g < count; ++g) {
    std::vector<bool> of_tables, of_features;
    for (const std::int64_t group : group_of_table_) of_tables.push_back(group == g);
    for (const Feature& feature : tables.features()) of_features.push_back(of_tables[feature.table]);
    ShardLayout layout = tables.layout().of_tables(of_tables, of_features);
    std::vector<placement::RowTransfer> modes;
    for (const Strip& strip : layout.strips)
      modes.push_back(
          decided_.transfer_of({tables.features()[strip.feature].table, strip.column_begin, strip.column_end}));
    groups_.push_back(std::make_unique<Group>(Group{.comm = comm_,
                                                    .progress = progress_,
                                                    .wire = wire_,
                                                    .tables = tables_,
                                                    .plan = plan,
                                                    .config = config_,
                                                    .layout = std::move(layout),
                                                    .modes = std::move(modes),
                                                    .dedup = decided_.dedup,
                                                    .gathered = decided_.by_rows,
                                                    .exchange = make_exchange(comm_, config_),
                                                    .reduction = reduction_}));
    complete(*groups_.back());
  }
}

std::string Embedding::picked() const {
  std::set<std::string> names;
  if (!config_.exchange.choice->chooses) return {};
  const std::string on_gpus = host_reaches_arrays ? "" : comm::automatic_for_gpus(comm_).name();
  for (const auto& group : groups_) {
    names.insert(host_reaches_arrays ? group->exchange->picked() : on_gpus);
    if (group->at_home) names.insert("vectors at home");
  }
  names.erase("");
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string Embedding::picked_dedup() const {
  const bool rows_travel = std::ranges::any_of(groups_, [](const auto& group) {
    return std::ranges::count(group->modes, placement::RowTransfer::unique_rows) > 0;
  });
  if (config_.movement.dedup != placement::Dedup::automatic || !rows_travel) return {};
  return std::string(name_of(decided_.dedup));
}

}  // namespace shardmark::workloads
