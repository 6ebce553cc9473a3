// SPDX-License-Identifier: Apache-2.0
#include "results/table/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "results/disturbance.hpp"
#include "results/json_text.hpp"
#include "results/statistics.hpp"
#include "results/table/answer.hpp"
#include "results/table/convergence.hpp"
#include "results/table/dynamic_tables.hpp"
#include "results/table/pipelines.hpp"
#include "results/table/tensor_trains.hpp"
#include "results/verdict.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;

std::string host_list(const Json& environment) {
  std::vector<std::string> hosts;
  if (const Json::json_pointer ranks("/ranks"); environment.contains(ranks)) {
    for (const Json& rank : environment.at(ranks)) {
      const std::string host = text_at(rank, "/host");
      if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
    }
  }
  if (hosts.empty()) return "unknown";
  constexpr std::size_t shown = 8;
  const std::size_t count = hosts.size();
  hosts.resize(std::min(count, shown));
  return fmt::format("{} ({}{})", count, fmt::join(hosts, ", "), count > shown ? ", ..." : "");
}

std::string memory_of(const Json& environment) {
  const Json::json_pointer memory("/machine/memory_bytes");
  if (!environment.contains(memory) || !environment.at(memory).is_number()) return "unknown";
  return fmt::format("{:.1f} GiB", environment.at(memory).get<double>() * 0x1p-30);
}

/// "GPUs 4 x NVIDIA H200, 139.8 GiB, at most 1980 MHz, driver of CUDA 13.0": those that ranks use; nothing without.
std::vector<std::string> gpu_line(const Json& environment) {
  std::set<std::string> gpus;
  const Json* shown = nullptr;
  if (const Json::json_pointer ranks("/ranks"); environment.contains(ranks))
    for (const Json& rank : environment.at(ranks))
      if (rank.is_object() && rank.contains("gpu")) {
        shown = &rank.at("gpu");
        gpus.insert(text_at(rank, "/host") + ' ' + text_at(rank, "/gpu/address"));
      }
  if (shown == nullptr) return {};
  const Json::json_pointer memory("/memory_bytes");
  const double bytes = shown->contains(memory) && shown->at(memory).is_number() ? shown->at(memory).get<double>() : 0.0;
  return {fmt::format("GPUs {} x {}, {:.1f} GiB, at most {} MHz, driver of CUDA {}", gpus.size(),
                      text_at(*shown, "/name"), bytes * 0x1p-30, text_at(*shown, "/clock_mhz"),
                      text_at(*shown, "/driver"))};
}

/// "predicted by NAME: measured on 2 ranks of 1 thread": nothing where nothing was.
std::vector<std::string> predicted_by(const Json& environment) {
  if (!environment.contains("predicted_by")) return {};
  const std::string warning = text_at(environment, "/predicted_by/warning");
  return {fmt::format("predicted by {}: {}{}", text_at(environment, "/predicted_by/name"),
                      text_at(environment, "/predicted_by/source"),
                      warning == "unknown" ? "" : fmt::format("; WARNING: {}", warning))};
}

/// The line that puts the environment's published ratio beside ours, if there are both.
std::string published_ratio(const Json& environment, std::span<const CaseRecord> records) {
  const Json published = environment.value("published", Json());
  const auto text = [&](const char* key) { return published.at(key).get<std::string>(); };
  try {
    if (published.is_null()) return "";
    return beside_published(records, text("fast"), text("slow"), published.at("ratio").get<double>(), text("source"))
        .value_or("");
  } catch (const Json::exception&) {
    return "the published ratio in the environment record cannot be read";
  }
}

/// Returns what the page compares: the value of the leading field, and the storage of the tables, where they differ.
std::string compared_value(const CaseRecord& record, const Findings& findings) {
  return fmt::format("{}\n{}", value_of(record, findings.field), record.option("storage"));
}

/// Returns the best case of each compared value.
Records shown_alone(const Findings& findings) {
  Records first;
  for (const CaseRecord* record : findings.cases) {
    const auto same = [&](const CaseRecord* other) {
      return compared_value(*other, findings) == compared_value(*record, findings);
    };
    if (std::ranges::none_of(first, same)) first.push_back(record);
  }
  return first;
}

/// Returns the best case of each value of the leading field, and every wrong one; or all.
std::vector<Line> shown_lines(const Findings& findings, bool all) {
  const Records first = shown_alone(findings);
  const bool alone = first.size() == 1;
  std::vector<Line> lines;
  for (std::size_t i = 0; i < findings.cases.size(); ++i) {
    const CaseRecord* record = findings.cases[i];
    if (!all && !alone && record->wrong == 0 && std::ranges::find(first, record) == first.end()) continue;
    const bool is_best = !findings.leaders.empty() && record == &findings.best();
    const bool is_near = !findings.leaders.empty() && is_valid(*record) &&
                         !findings.beside(*record, findings.best()).is_distinguishable();
    lines.push_back({i, is_best ? Emphasis::best : is_near ? Emphasis::near : Emphasis::none});
  }
  return lines;
}

/// "10", or where they differ "1 to 10".
std::string range_of(const std::vector<std::int64_t>& counts) {
  const auto [fewest, most] = std::ranges::minmax(counts);
  return fewest == most ? std::to_string(most) : fmt::format("{} to {}", fewest, most);
}

/// "63 to 307 steps in 6 to 17 visits"; "6 steps" where each is a visit of its own.
std::string steps_of(const Records& records) {
  std::vector<std::int64_t> steps, visits;
  for (const CaseRecord* record : records) {
    steps.push_back(record->step_ms.n);
    visits.push_back(record->step_ms.visit_count());
  }
  return fmt::format("{} steps{}", range_of(steps),
                     steps == visits ? "" : fmt::format(" in {} visits", range_of(visits)));
}

/// "each plan at its best of 10 cases; --all shows all 40".
std::string hidden_cases(const Findings& findings) {
  std::vector<std::int64_t> counts;
  for (const CaseRecord* first : shown_alone(findings))
    counts.push_back(std::ranges::count_if(findings.cases, [&](const CaseRecord* record) {
      return compared_value(*record, findings) == compared_value(*first, findings);
    }));
  const bool storages = findings.field != "storage" && leaders(findings.cases, "storage").size() > 1;
  return fmt::format("each {}{} at its best of {} cases; --all shows all {}", findings.field,
                     storages ? " and storage" : "", range_of(counts), findings.cases.size());
}

/// Returns the predicted phases of the best case; with --all of each.
std::vector<PhaseTable> phases_of_cases(const Findings& findings, bool all) {
  if (all) return phase_tables(findings, findings.cases);
  return findings.leaders.empty() ? std::vector<PhaseTable>() : phase_tables(findings, {&findings.best()});
}

/// "2 of 50 timed batches were checked afterwards": where there was no time for all.
std::string unchecked_batches(const Records& records) {
  std::int64_t checked = 0, timed = 0;
  for (const CaseRecord* record : records) {
    const auto number = [&](const char* name) {
      const auto found = record->details.find(name);
      return found != record->details.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
    };
    if (number("checked_after") == 0 || number("timed_batches") <= timed) continue;
    checked = number("checked_after");
    timed = number("timed_batches");
  }
  if (checked >= timed) return "";
  return fmt::format(
      "{} of {} timed batches were checked afterwards, as the checks have their share of the time; "
      "--check {} checks all of them",
      checked, timed, timed);
}

/// "top.0.weight 12, top.1.bias 1": of the case with most of them.
std::string unjudged_values(const Records& records) {
  constexpr std::size_t most_names = 4;
  std::int64_t most = 0;
  std::vector<std::pair<std::int64_t, std::string>> of_most;
  for (const CaseRecord* record : records) {
    const auto found = record->details.find(unjudged_field);
    if (found == record->details.end() || !found->is_object()) continue;
    std::vector<std::pair<std::int64_t, std::string>> counts;
    std::int64_t sum = 0;
    for (const auto& [name, count] : found->items()) {
      if (!count.is_number_integer()) continue;
      counts.emplace_back(count.get<std::int64_t>(), name);
      sum += counts.back().first;
    }
    if (sum <= most) continue;
    most = sum;
    of_most = std::move(counts);
  }
  if (most == 0) return "";
  std::ranges::stable_sort(of_most, std::greater(), &std::pair<std::int64_t, std::string>::first);
  std::string names;
  for (std::size_t i = 0; i < std::min(most_names, of_most.size()); ++i)
    names += fmt::format("{}{} {}", i == 0 ? "" : ", ", plain(of_most[i].second), of_most[i].first);
  if (of_most.size() > most_names) names += fmt::format(" and {} more", of_most.size() - most_names);
  return fmt::format("the check tells nothing of {} values, whose bounds are as large as their steps: {}", most, names);
}

std::vector<std::string> remarks(const Records& records) {
  const std::int64_t fewest = independent_samples(
      **std::ranges::min_element(records, {}, [](const CaseRecord* record) { return independent_samples(*record); }));
  std::vector<std::string> remarks;
  if (fewest < samples_for_interval)
    remarks.push_back(fmt::format("fewer than {} visits: the interval is minimum to maximum, and covers less than 95 %",
                                  samples_for_interval));
  if (std::string unchecked = unchecked_batches(records); !unchecked.empty()) remarks.push_back(std::move(unchecked));
  if (std::string unjudged = unjudged_values(records); !unjudged.empty()) remarks.push_back(std::move(unjudged));
  return remarks;
}

}  // namespace

std::vector<std::string> where_lines(const Json& environment) {
  const bool dirty = text_at(environment, "/build/dirty") == "true";
  std::string command;
  if (environment.contains("arguments"))
    for (const Json& argument : environment.at("arguments")) command += ' ' + plain(text_of(argument));
  std::vector<std::string> lines{
      fmt::format("shardmark {}, commit {}{}, {} build by {}, {}, seed {}", text_at(environment, "/build/version"),
                  text_at(environment, "/build/git_hash").substr(0, 12), dirty ? " with changes" : "",
                  text_at(environment, "/build/type"), text_at(environment, "/build/compiler"),
                  text_at(environment, "/time"), text_at(environment, "/seed")),
      fmt::format("command{}", command),
      fmt::format("hosts {}, machine {}, {} cores, {} logical, {}, Linux {}", host_list(environment),
                  text_at(environment, "/machine/cpu"), text_at(environment, "/machine/cores"),
                  text_at(environment, "/machine/logical_cpus"), memory_of(environment),
                  text_at(environment, "/machine/kernel"))};
  std::ranges::move(gpu_line(environment), std::back_inserter(lines));
  return lines;
}

std::string build_text(const Report& report) {
  const Json& environment = report.environment;
  const bool dirty = text_at(environment, "/build/dirty") == "true";
  return fmt::format("{} on {}, {}, commit {}{}", value_of(report.cases.front(), "workload"),
                     text_at(environment, "/machine/cpu"), text_at(environment, "/time").substr(0, 10),
                     text_at(environment, "/build/git_hash").substr(0, 12), dirty ? " with changes" : "");
}

Page page_of(const Report& report, bool all) {
  const Findings findings = findings_of(report.environment, report.cases);
  const CaseRecord* best = best_valid_case(report.cases);
  Page page;
  page.where = where_lines(report.environment);
  if (!report.cases.empty()) {
    page.sheet = sheet_of(findings.cases, best);
    page.lines = shown_lines(findings, all);
    if (page.lines.size() < findings.cases.size()) page.cases = hidden_cases(findings);
    page.steps = steps_of(findings.cases);
    page.remarks = remarks(findings.cases);
    std::ranges::move(predicted_by(report.environment), std::back_inserter(page.remarks));
    page.phases = phases_of_cases(findings, all);
    page.pipelines = pipeline_lines(findings.cases);
    page.qualities = convergence_lines(findings.cases);
    page.tts = tensor_train_lines(findings.cases);
    std::ranges::move(dynamic_table_lines(findings.cases), std::back_inserter(page.tts));
    page.disturbance = disturbance_text(findings.cases);
    page.sentences = answer(findings);
  }
  page.published = published_ratio(report.environment, report.cases);
  page.merit = best ? fmt::format("FOM samples/s: {:.0f}", best->samples_per_s) : "FOM samples/s: none";
  page.verdict = verdict_of(report.cases, report.environment).line();
  return page;
}

std::string legend(const Page& page, const std::vector<Column>& columns) {
  std::string text =
      fmt::format("ms: median of {}, each the slowest rank's, and its interval; phases: their median ms", page.steps);
  std::vector<std::string> legends;
  for (const Column& column : columns) {
    if (column.legend.empty() || std::ranges::find(legends, column.legend) != legends.end()) continue;
    legends.push_back(column.legend);
    text += "; " + column.legend;
  }
  return text;
}

}  // namespace shardmark::results
