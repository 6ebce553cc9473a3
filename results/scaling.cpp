// SPDX-License-Identifier: Apache-2.0
#include "results/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "results/comparability.hpp"
#include "results/json_text.hpp"
#include "results/statistics.hpp"
#include "results/table/cases.hpp"
#include "results/verdict.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;

/// Options that follow from the batch and the number of ranks.
constexpr std::array<std::string_view, 2> scaled_options{"batch", "batches"};

bool is_scaled(const std::string& option) { return std::ranges::find(scaled_options, option) != scaled_options.end(); }

/// A case on so many ranks and nodes, in one launch.
struct Launched {
  const CaseRecord* record;
  std::int64_t nodes;
  std::string of_what;  ///< rows of one text are beside each other: the plan, and with `all` its options
};

std::string case_text(const CaseRecord& record, bool all) {
  std::string text = record.plan;
  if (all)
    for (const auto& [option, value] : record.options.items())
      if (!is_scaled(option)) text += '\n' + option + ' ' + text_of(value);
  return text;
}

std::vector<Launched> launched_cases(std::span<const Report> reports, bool all) {
  std::vector<Launched> launched;
  for (const Report& report : reports) {
    Records valid;
    for (const CaseRecord* record : ranked(report.cases))
      if (is_valid(*record)) valid.push_back(record);
    for (const CaseRecord* record : all ? valid : leaders(valid, "plan"))
      launched.push_back({record, nodes_of(report.environment), case_text(*record, all)});
  }
  return launched;
}

/// Returns the values of an option in a file, as people read them.
std::set<std::string> values_in(const Report& report, const std::string& field) {
  std::set<std::string> values;
  for (const CaseRecord& record : report.cases) values.insert(value_of(record, field));
  return values;
}

/// Adds a line for a field, or an option, of which two files have no value in common.
void add_disjoint(std::span<const Report> reports, const std::string& field, std::vector<std::string>& differing) {
  const std::set<std::string> first = values_in(reports.front(), field);
  for (const Report& report : reports.subspan(1)) {
    const std::set<std::string> other = values_in(report, field);
    if (std::ranges::any_of(first, [&](const std::string& value) { return other.contains(value); })) continue;
    differing.push_back(fmt::format("{} differs: '{}' in {}, '{}' in {}", field, *first.begin(), reports.front().name,
                                    *other.begin(), report.name));
    return;
  }
}

std::vector<std::string> differences(std::span<const Report> reports) {
  std::vector<Launch> launches;
  std::set<std::string> fields;
  for (const Report& report : reports) {
    launches.push_back(launch_of({report.environment, {report.cases.begin(), report.cases.end()}}, report.name));
    for (const CaseRecord& record : report.cases)
      for (const auto& item : record.options.items())
        if (!is_scaled(item.key())) fields.insert(item.key());
  }
  std::vector<std::string> differing;
  for (const Disagreement& each : disagreements(launches, {}, {}))
    if (each.key != "host") differing.push_back(each.text);
  add_disjoint(reports, "workload", differing);
  for (const std::string& field : fields) add_disjoint(reports, field, differing);
  return differing;
}

/// Joins the launches of one case on as many ranks and nodes.
ScalingRow row_of(const std::vector<const Launched*>& launches) {
  std::vector<double> medians;
  for (const Launched* each : launches) medians.push_back(each->record->step_ms.median);
  const auto step = [](const Launched* each) -> const StepTime& { return each->record->step_ms; };
  return {.record = launches.front()->record,
          .nodes = launches.front()->nodes,
          .launches = std::ssize(launches),
          .median = summarize(medians).median,
          .low = step(*std::ranges::min_element(launches, {}, [&](auto* each) { return step(each).low; })).low,
          .high = step(*std::ranges::max_element(launches, {}, [&](auto* each) { return step(each).high; })).high};
}

/// Puts the rates of a case on more ranks beside that on the fewest.
void compare_with_first(std::vector<ScalingRow>& rows) {
  const ScalingRow& first = rows.front();
  for (ScalingRow& row : rows) {
    row.speedup = row.samples_per_s() / first.samples_per_s();
    row.efficiency = row.speedup * static_cast<double>(first.record->ranks) / static_cast<double>(row.record->ranks);
  }
}

Scaling scaling_of_rows(const std::vector<std::vector<ScalingRow>>& cases) {
  bool strong = true, weak = true;
  for (const std::vector<ScalingRow>& rows : cases)
    for (const ScalingRow& row : rows) {
      const CaseRecord &one = *rows.front().record, &other = *row.record;
      strong = strong && one.global_batch() == other.global_batch();
      weak = weak && one.global_batch() * other.ranks == other.global_batch() * one.ranks;
    }
  return strong ? Scaling::strong : weak ? Scaling::weak : Scaling::neither;
}

}  // namespace

std::int64_t nodes_of(const Json& environment) {
  std::set<std::string> nodes;
  if (environment.contains("ranks"))
    for (const Json& rank : environment.at("ranks"))
      if (const char* key = rank.contains("node") ? "node" : "host"; rank.contains(key))
        nodes.insert(text_of(rank.at(key)));
  return std::max<std::int64_t>(1, std::ssize(nodes));
}

std::optional<ScalingTable> scaling_of(std::span<const Report> reports, bool all) {
  std::set<std::pair<std::int64_t, std::int64_t>> sizes;
  for (const Report& report : reports) {
    if (report.cases.empty()) return std::nullopt;
    sizes.emplace(report.cases.front().ranks, nodes_of(report.environment));
  }
  if (sizes.size() < 2) return std::nullopt;
  ScalingTable table;
  table.differing = differences(reports);
  if (!table.differing.empty()) return table;

  const std::vector<Launched> launched = launched_cases(reports, all);
  std::vector<std::string> names;
  std::map<std::string, std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const Launched*>>> of_case;
  for (const Launched& each : launched) {
    if (!of_case.contains(each.of_what)) names.push_back(each.of_what);
    of_case[each.of_what][{each.record->ranks, each.nodes}].push_back(&each);
  }
  std::vector<std::vector<ScalingRow>> cases;
  for (const std::string& name : names) {
    std::vector<ScalingRow>& rows = cases.emplace_back();
    for (const auto& [size, launches] : of_case.at(name)) rows.push_back(row_of(launches));
    compare_with_first(rows);
  }
  table.scaling = scaling_of_rows(cases);
  std::ranges::stable_sort(cases, [](const auto& a, const auto& b) {
    const ScalingRow &one = a.back(), &other = b.back();
    return std::tuple(other.record->ranks, other.samples_per_s()) < std::tuple(one.record->ranks, one.samples_per_s());
  });
  for (std::size_t line = 0; line < cases.size(); ++line)
    for (ScalingRow& row : cases[line]) {
      row.line = static_cast<std::int64_t>(line);
      table.rows.push_back(row);
    }
  return table;
}

}  // namespace shardmark::results
