// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include "comm/placement/formats/hugectr_groups.hpp"

namespace shardmark::placement {
namespace {

using Lookups = std::vector<std::int64_t>;

/// The rules on groups that have been read; numbers as at check_hugectr_plan.
class Rules {
 public:
  Rules(const HugectrGroups& groups, const HugectrContext& context, std::vector<HugectrProblem>& problems)
      : groups_(groups), context_(context), problems_(problems) {}

  void check() {
    each_group_alone();
    numbers_of_entries();
    workload();
    const bool comparable = std::ranges::none_of(problems_, [](auto& p) { return p.rule == 5; }) && !groups_.empty();
    for (std::size_t g = 0; comparable && g < groups_.front().size(); ++g) {
      across_ranks(g);
      if (groups_.front()[g].data_parallel())
        limits_of_data_parallel(g);
      else
        shard_sets(g);
    }
    if (comparable) lookups_placed_once();
    if (!has_errors()) shared_tables();
    if (!has_errors()) memory();
  }

 private:
  bool has_errors() const {
    return std::ranges::any_of(problems_, [](const HugectrProblem& problem) { return !problem.only_hugectr; });
  }

  void report(HugectrProblem problem) { problems_.push_back(std::move(problem)); }

  const std::string& table_name(std::int64_t table) const { return context_.tables[table].name; }

  bool is_lookup(std::int64_t id) const { return id >= 0 && id < std::ssize(context_.lookups); }
  const Feature& lookup(std::int64_t id) const { return context_.lookups[id]; }

  template <class Visit>
  void for_each_group(Visit visit) const {
    for (std::size_t rank = 0; rank < groups_.size(); ++rank)
      for (std::size_t g = 0; g < groups_[rank].size(); ++g)
        visit(static_cast<std::int64_t>(rank), static_cast<std::int64_t>(g), groups_[rank][g]);
  }

  /// 2, 3, 4, 7, 13, 14 (lengths of global lists), 15
  void each_group_alone() {
    for_each_group([&](std::int64_t rank, std::int64_t g, const HugectrGroup& group) {
      const auto broken = [&](int rule, std::string text, std::int64_t lookup_id = -1) {
        report({.rule = rule, .rank = rank, .group = g, .lookup = lookup_id, .text = std::move(text)});
      };
      if (group.shard_id >= group.shard_count)
        broken(2, fmt::format("shard id {} is not below the shard count {}", group.shard_id, group.shard_count));
      if (group.data_parallel() && group.shard_count > 1)
        broken(3, fmt::format("a dp group has shard count 1, not {}", group.shard_count));
      if (!group.data_parallel() && group.strategy != "mp" && group.strategy != "localized")
        broken(4, fmt::format("unknown strategy '{}'; valid: dp, mp, localized", group.strategy));
      if (group.shard_id < 0 || group.shard_count < 1)
        broken(13, fmt::format("shard id {} of {}: ids start at 0, counts at 1", group.shard_id, group.shard_count));
      if (group.global.size() != groups_.size())
        broken(14, fmt::format("the global list has {} entries for {} ranks", group.global.size(), groups_.size()));
      else if (group.global[rank] != group.local)
        broken(7, fmt::format("the local list [{}] is not the global list's entry [{}] for this rank",
                              fmt::join(group.local, ","), fmt::join(group.global[rank], ",")));
      std::set<std::int64_t> seen;
      for (const std::int64_t id : group.local) {
        if (!seen.insert(id).second) broken(7, "the local list repeats this lookup", id);
        if (!is_lookup(id)) broken(15, fmt::format("lookups are 0 to {}", std::ssize(context_.lookups) - 1), id);
      }
    });
  }

  /// 5, 14 (length of the file)
  void numbers_of_entries() {
    if (groups_.empty()) report({.rule = 14, .text = "the file has no entry; give one per rank"});
    if (context_.ranks && *context_.ranks != std::ssize(groups_))
      report(
          {.rule = 14,
           .text = fmt::format("the file has entries for {} ranks, the job has {}", groups_.size(), *context_.ranks)});
    for (std::size_t rank = 1; rank < groups_.size(); ++rank)
      if (groups_[rank].size() != groups_[0].size())
        report({.rule = 5,
                .rank = static_cast<std::int64_t>(rank),
                .text = fmt::format("has {} groups, rank 0 has {}", groups_[rank].size(), groups_[0].size())});
  }

  /// 12, 16 (tables without lookup), 19
  void workload() {
    const auto tables = static_cast<std::int64_t>(context_.tables.size());
    std::set<std::int64_t> seen;
    for (std::int64_t t = 0; t < std::ssize(context_.id_spaces); ++t) {
      const std::int64_t id = context_.id_spaces[t];
      if (id < 0 || id >= tables || !seen.insert(id).second)
        report({.rule = 12,
                .table = t,
                .text = fmt::format("id space {}: they must be 0 to {}, each once", id, tables - 1)});
    }
    optimizers_of_hugectr();
    std::vector<bool> used(context_.tables.size());
    for (const Feature& feature : context_.lookups) used[feature.table] = true;
    for (std::int64_t t = 0; t < tables; ++t)
      if (!used[t])
        report({.rule = 16,
                .table = t,
                .text = fmt::format("'{}' has no lookup, so that no entry places it", table_name(t))});
    const auto ranks = static_cast<std::int64_t>(groups_.size());
    if (context_.global_batch && ranks > 0 && *context_.global_batch % ranks != 0)
      report(
          {.rule = 19,
           .text = fmt::format("the global batch of {} does not divide by {} ranks", *context_.global_batch, ranks)});
  }

  /// 12, limits
  void optimizers_of_hugectr() {
    if (context_.lookups.empty()) return;
    const std::int64_t leader = context_.lookups.front().table;
    const Optimizer& first = context_.tables[leader].optimizer;
    bool v37 = false;
    for_each_group(
        [&](std::int64_t, std::int64_t, const HugectrGroup& group) { v37 |= group.strategy == "localized"; });
    for (std::int64_t t = 0; t < std::ssize(context_.tables); ++t)
      if (context_.tables[t].optimizer != first)
        report({.rule = 12,
                .only_hugectr = true,
                .table = t,
                .text = fmt::format("'{}' has another optimizer than '{}'; HugeCTR takes one for all", table_name(t),
                                    table_name(leader))});
    if (v37 && first.kind != OptimizerKind::sgd)
      report({.rule = 12,
              .only_hugectr = true,
              .table = leader,
              .text = fmt::format("'{}' uses {}; HugeCTR v3.7 has SGD only", table_name(leader), name_of(first.kind))});
  }

  /// 6, 8, 9
  void across_ranks(std::size_t g) {
    const HugectrGroup& first = groups_.front()[g];
    for (std::size_t rank = 1; rank < groups_.size(); ++rank) {
      const HugectrGroup& group = groups_[rank][g];
      const auto broken = [&](int rule, std::string text) {
        report({.rule = rule,
                .rank = static_cast<std::int64_t>(rank),
                .group = static_cast<std::int64_t>(g),
                .text = std::move(text)});
      };
      if (group.strategy != first.strategy)
        broken(6, fmt::format("strategy '{}', but '{}' on rank 0", group.strategy, first.strategy));
      if (group.global != first.global) broken(8, "the global list differs from rank 0's");
      if (first.data_parallel() && group.local != first.local)
        broken(9, "the local list of a dp group differs from rank 0's");
    }
  }

  /// 10
  void shard_sets(std::size_t g) {
    std::unordered_map<std::int64_t, int> owner;  // a rank whose list has the lookup
    for (const auto& [list, holders] : holders_of_lists(groups_, g)) {
      shard_set(g, holders, list.empty());
      for (const std::int64_t id : std::set(list.begin(), list.end())) {
        const auto [other, is_new] = owner.emplace(id, holders.front());
        if (!is_new)
          report({.rule = 10,
                  .rank = holders.front(),
                  .group = static_cast<std::int64_t>(g),
                  .lookup = id,
                  .text = fmt::format("rank {} holds this lookup too, in a list that is not the same", other->second)});
      }
    }
  }

  void shard_set(std::size_t g, const std::vector<int>& holders, bool idle) {
    const auto broken = [&](int rank, std::string text) {
      if (idle) text += " (idle ranks: HugeCTR takes those of the empty list for a shard set)";
      report({.rule = 10,
              .only_hugectr = idle,
              .rank = rank,
              .group = static_cast<std::int64_t>(g),
              .text = std::move(text)});
    };
    const auto group_of = [&](int rank) -> const HugectrGroup& { return groups_[rank][g]; };
    const int first = holders.front();
    const std::int64_t count = group_of(first).shard_count;
    for (const int rank : holders)
      if (group_of(rank).shard_count != count)
        return broken(rank, fmt::format("shard count {}, but {} on rank {}, which holds the same lookups",
                                        group_of(rank).shard_count, count, first));
    if (std::ssize(holders) != count)
      return broken(first, fmt::format("the shard count is {}, but {} rank{} hold{} these lookups", count,
                                       holders.size(), holders.size() == 1 ? "" : "s", holders.size() == 1 ? "s" : ""));
    std::set<std::int64_t> ids;
    for (const int rank : holders)
      if (const std::int64_t id = group_of(rank).shard_id; id < 0 || id >= count || !ids.insert(id).second)
        return broken(rank, fmt::format("shard id {}: the ranks with these lookups must be shards 0 to {}, each once",
                                        id, count - 1));
  }

  /// 11
  void limits_of_data_parallel(std::size_t g) {
    std::unordered_map<std::int64_t, std::int64_t> reader;  // of a table
    for (const std::int64_t id : groups_.front()[g].local) {
      if (!is_lookup(id)) continue;
      const auto limit = [&](std::string text) {
        report({.rule = 11,
                .only_hugectr = true,
                .group = static_cast<std::int64_t>(g),
                .lookup = id,
                .text = std::move(text)});
      };
      const auto [other, is_new] = reader.emplace(lookup(id).table, id);
      if (!is_new)
        limit(fmt::format("lookup {} of this dp group reads table '{}' too", other->second,
                          table_name(lookup(id).table)));
      if (lookup(id).pooling == Pooling::none) limit("HugeCTR has no dp lookup without pooling (concat)");
    }
  }

  /// 16
  void lookups_placed_once() {
    std::vector<std::set<std::int64_t>> found(context_.lookups.size());
    for_each_group([&](std::int64_t, std::int64_t g, const HugectrGroup& group) {
      for (const std::int64_t id : group.local)
        if (is_lookup(id)) found[id].insert(g);
    });
    for (std::int64_t id = 0; id < std::ssize(found); ++id) {
      const auto& in = found[id];
      if (in.empty()) report({.rule = 16, .lookup = id, .text = fmt::format("'{}' is in no group", lookup(id).name)});
      if (in.size() > 1)
        report({.rule = 16,
                .group = *in.rbegin(),
                .lookup = id,
                .text = fmt::format("'{}' is in group {} too", lookup(id).name, *in.begin())});
    }
  }

  /// 17
  void shared_tables() {
    const auto placed = placements_of_lookups(groups_, context_.lookups.size());
    std::unordered_map<std::int64_t, std::int64_t> first;  // lookup of a table
    for (std::int64_t id = 0; id < std::ssize(placed); ++id) {
      const auto [other, is_new] = first.emplace(lookup(id).table, id);
      if (!is_new && placed[id] != placed[other->second])
        report({.rule = 17,
                .lookup = id,
                .text =
                    fmt::format("reads table '{}' as lookup {} does, but is placed differently, which makes two copies",
                                table_name(lookup(id).table), other->second)});
    }
  }

  /// 18
  void memory() {
    if (!context_.bytes_per_rank) return;
    const auto loads = loads_of(plan_from_groups(groups_, "", context_), context_.tables);
    for (std::size_t rank = 0; rank < loads.size(); ++rank)
      if (loads[rank].bytes() > *context_.bytes_per_rank)
        report({.rule = 18,
                .rank = static_cast<std::int64_t>(rank),
                .text = fmt::format("tables and optimizer state take {} bytes, the rank has {}", loads[rank].bytes(),
                                    *context_.bytes_per_rank)});
  }

  const HugectrGroups& groups_;
  const HugectrContext& context_;
  std::vector<HugectrProblem>& problems_;
};

}  // namespace

void check_hugectr_groups(const HugectrGroups& groups, const HugectrContext& context,
                          std::vector<HugectrProblem>& problems) {
  Rules(groups, context, problems).check();
}

}  // namespace shardmark::placement
