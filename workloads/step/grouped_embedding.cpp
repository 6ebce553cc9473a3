// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/grouped_embedding.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "comm/affinity.hpp"

namespace shardmark {

namespace {

/// A plain lane for one group. The thread of several sleeps where the compute threads take all cores.
Lane lane_of(const Communicator& comm, std::int64_t groups) {
  if (groups == 1) return Lane(Lane::Kind::plain);
  const bool core_of_its_own = threads_for_rank(comm, observed_affinity()) > Execution().concurrency();
  return Lane(Lane::Kind::threaded, core_of_its_own ? Waiting::poll : Waiting::sleep);
}

/// The names that differ and are not empty.
template <class Groups, class NameOf>
std::string names_of(const Groups& groups, const NameOf& name_of) {
  std::set<std::string> names;
  for (const auto& group : groups) names.insert(name_of(*group));
  names.erase("");
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

GroupedEmbedding::GroupedEmbedding(const Communicator& comm, ShardedTables& tables, const Plan& plan,
                                   const Movement& movement, Fault fault)
    : comm_(comm),
      tables_(tables),
      movement_(movement),
      wire_(movement.wire, id_type(movement.wire_ids, plan, tables.tables())),
      group_of_table_(group_of_tables(movement.groups, plan, tables.tables(), tables.features())),
      lane_(lane_of(comm, count_groups(group_of_table_))) {
  const std::int64_t groups = count_groups(group_of_table_);
  const CaseContext context{comm_, lane_, wire_, tables_, plan, movement_, fault};
  for (std::int64_t g = 0; g < groups; ++g) {
    std::vector<bool> chosen;
    for (const Feature& feature : tables.features()) chosen.push_back(group_of_table_[feature.table] == g);
    groups_.push_back(
        std::make_unique<ShardedEmbedding>(context, tables.layout().of_features(chosen, g + 1 == groups)));
  }
}

DeviceArray<float> GroupedEmbedding::output(const StepInput& input, std::int64_t feature) const {
  const std::int64_t table = tables_.features()[feature].table;
  return groups_[group_of_table_[table]]->output(input, feature);
}

RowCounts GroupedEmbedding::row_counts() const {
  RowCounts sum;
  for (const auto& group : groups_) sum += group->row_counts();
  return sum;
}

std::int64_t GroupedEmbedding::lookup_bytes() {
  std::int64_t sum = 0;
  for (const auto& group : groups_) sum += group->lookup_bytes();
  return sum;
}

std::string GroupedEmbedding::picked() const {
  return names_of(groups_, [](const ShardedEmbedding& group) { return group.picked(); });
}

std::string GroupedEmbedding::picked_dedup() const {
  return names_of(groups_, [](const ShardedEmbedding& group) { return group.picked_dedup(); });
}

SentBytes GroupedEmbedding::sent() const {
  SentBytes sent(comm_.rank(), comm_.size(), phase_names.size());
  for (const auto& group : groups_) sent += group->sent();
  return sent;
}

}  // namespace shardmark
