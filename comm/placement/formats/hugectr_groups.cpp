// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/formats/hugectr_groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "comm/placement/formats/plan_json_text.hpp"

namespace shardmark::placement {
namespace {

using Json = nlohmann::ordered_json;

/// Reads one group; `place` is the rank and group that its problems name.
class GroupReader {
 public:
  GroupReader(const Json& object, std::vector<HugectrProblem>& problems, HugectrProblem place)
      : object_(object), problems_(problems), place_(std::move(place)) {}

  HugectrGroup read() {
    HugectrGroup group;
    if (!object_.is_object()) {
      report(1, "a group must be a JSON object");
      return group;
    }
    read_lists(group);
    read_strategy(group);
    read_shard(group);
    return group;
  }

 private:
  void report(int rule, std::string text) {
    HugectrProblem problem = place_;
    problem.rule = rule;
    problem.text = std::move(text);
    problems_.push_back(std::move(problem));
  }

  const Json* required(const char* key) {
    const auto found = object_.find(key);
    if (found != object_.end()) return &*found;
    report(1, fmt::format("key '{}' is missing", key));
    return nullptr;
  }

  void read_lists(HugectrGroup& group) {
    if (const Json* local = required("local_embedding_list")) {
      if (auto list = integers_in(*local))
        group.local = std::move(*list);
      else
        report(1, "'local_embedding_list' must be a list of integers");
    }
    if (const Json* global = required("global_embedding_list")) {
      bool lists = global->is_array();
      for (std::size_t rank = 0; lists && rank < global->size(); ++rank) {
        auto list = integers_in((*global)[rank]);
        lists = list.has_value();
        if (lists) group.global.push_back(std::move(*list));
      }
      if (!lists) report(1, "'global_embedding_list' must be a list of lists of integers");
    }
  }

  void read_strategy(HugectrGroup& group) {
    const Json* strategy = required("table_placement_strategy");
    if (strategy == nullptr) return;
    if (strategy->is_string())
      group.strategy = strategy->get<std::string>();
    else
      report(1, "'table_placement_strategy' must be a string");
  }

  void read_shard(HugectrGroup& group) {
    const bool older = object_.contains("num_sharding") || object_.contains("sharding_id");
    const bool newer = object_.contains("shards_count") || object_.contains("shard_id");
    if (newer && (older || group.strategy == "localized"))
      report(20,
             "mixes the spellings of v3.8 (shards_count, shard_id) and of older releases (num_sharding, sharding_id, "
             "localized), of which each release ignores one");
    read_integer(newer ? "shards_count" : "num_sharding", group.shard_count);
    read_integer(newer ? "shard_id" : "sharding_id", group.shard_id);
  }

  void read_integer(const char* key, std::int64_t& value) {
    if (!object_.contains(key)) return;
    if (const auto integer = integer_in(object_[key]))
      value = *integer;
    else
      report(1, fmt::format("'{}' must be an integer", key));
  }

  const Json& object_;
  std::vector<HugectrProblem>& problems_;
  HugectrProblem place_;
};

Json json_of(const HugectrGroup& group, const HugectrSpelling& spelling) {
  Json object{{"local_embedding_list", group.local},
              {"global_embedding_list", group.global},
              {"table_placement_strategy", group.data_parallel() ? "dp" : spelling.model_parallel}};
  if (group.shard_count == 1) return object;
  object[spelling.shard_count] = group.shard_count;
  object[spelling.shard_id] = group.shard_id;
  return object;
}

}  // namespace

HugectrGroups parse_hugectr_groups(std::string_view text, std::string_view origin,
                                   std::vector<HugectrProblem>& problems) {
  const Json document = parse_json(text, origin);
  if (!document.is_array())
    throw InputError(fmt::format("{}: a HugeCTR plan file is a JSON array with one entry per rank", origin));
  HugectrGroups ranks;
  for (const Json& entry : document) {
    const auto rank = std::ssize(ranks);
    ranks.emplace_back();
    if (!entry.is_array()) problems.push_back({.rule = 1, .rank = rank, .text = "must be a list of groups"});
    for (const Json& group : entry.is_array() ? entry : Json::array())
      ranks.back().push_back(
          GroupReader(group, problems, {.rank = rank, .group = std::ssize(ranks.back()), .text = {}}).read());
  }
  return ranks;
}

std::string hugectr_groups_to_json(const HugectrGroups& groups, const HugectrSpelling& spelling) {
  std::vector<std::string> ranks;
  for (const auto& rank : groups) {
    std::vector<std::string> lines;
    for (const HugectrGroup& group : rank) lines.push_back("    " + json_of(group, spelling).dump());
    ranks.push_back(fmt::format("  [\n{}\n  ]", fmt::join(lines, ",\n")));
  }
  return fmt::format("[\n{}\n]\n", fmt::join(ranks, ",\n"));
}

std::map<std::vector<std::int64_t>, std::vector<int>> holders_of_lists(const HugectrGroups& groups, std::size_t g) {
  std::map<std::vector<std::int64_t>, std::vector<int>> holders;
  for (std::size_t rank = 0; rank < groups.size(); ++rank)
    holders[groups[rank][g].local].push_back(static_cast<int>(rank));
  return holders;
}

}  // namespace shardmark::placement
