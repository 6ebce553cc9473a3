// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "comm/placement/named_plan.hpp"
#include "comm/placement/planner.hpp"
#include "reference/error.hpp"
#include "results/json_lines.hpp"
#include "results/json_text.hpp"
#include "results/prediction_quality.hpp"
#include "results/table/cases.hpp"
#include "results/table/columns.hpp"
#include "results/table/page.hpp"
#include "workloads/cases/placement_inputs.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/predict/predicted_plans.hpp"

namespace shardmark::workloads {
namespace {

/// An Estimator prices plans: its number is in seconds, or one that only grows with them.
struct Estimator {
  std::string_view name;
  std::string_view planner;  ///< whose settings it has; empty: what was predicted before the case ran
  bool seconds = false;
  std::optional<double> (*price)(const placement::Plan&, std::span<const Table>, std::span<const Feature>,
                                 const placement::PlanRequest&) = nullptr;
};

constexpr std::array estimators{
    Estimator{"ours", "", true},
    Estimator{"TorchRec", "torchrec", true, placement::torchrec_seconds},
    Estimator{"HugeCTR", "hugectr_auto", false, placement::hugectr_cost},
};

struct AuditArguments {
  std::string file;
  std::array<std::string, estimators.size()> settings;
};

/// Holds a case and what each estimator says of its plan: milliseconds, or a cost.
struct AuditedCase {
  const results::CaseRecord* record = nullptr;
  std::array<double, estimators.size()> prices{};
};

placement::PlannerSettings settings_of(const Estimator& estimator, const std::string& text) {
  const placement::Planner& planner = choice_named(placement::planners, "planner", estimator.planner);
  return {estimator.planner, text, planner.settings};
}

/// Returns the ranks of a host, as the environment lists them; 0 where it lists none.
int ranks_per_node(const nlohmann::ordered_json& environment) {
  std::set<std::string> hosts;
  const auto ranks = environment.value("ranks", nlohmann::ordered_json::array());
  for (const auto& rank : ranks) hosts.insert(rank.value("host", ""));
  return hosts.empty() ? 0 : static_cast<int>(ranks.size() / hosts.size());
}

/// Makes the plans of cases again, by their names.
class Auditor {
 public:
  Auditor(const AuditArguments& arguments, const results::Results& results)
      : settings_(arguments.settings), per_node_(ranks_per_node(results.environment)) {}

  /// Returns nothing where a plan cannot be made again, or an estimator says nothing of it.
  std::optional<AuditedCase> audited(const results::CaseRecord& record) const {
    if (!record.predicted_ms || record.wrong > 0) return std::nullopt;
    try {
      return priced(record);
    } catch (const InputError&) {  // an option or a setting that there is no more
      return std::nullopt;
    }
  }

 private:
  std::optional<AuditedCase> priced(const results::CaseRecord& record) const {
    RunOptions options;
    options.workload = load_workload(record.workload);
    std::vector<GivenOption> given;
    for (const std::string& name : record.changed)
      given.push_back(given_setting(fmt::format("{}={}", name, results::text_of(record.options.at(name)))));
    const PredictedCases cases = cases_with(std::move(options), given);
    const Workload& workload = cases.options.workload;
    placement::PlanRequest request = plan_request_of(workload, static_cast<int>(record.ranks), cases.config.movement);
    request.ranks_per_node = per_node_;
    const std::optional<placement::Plan> plan = plan_again(record, workload, request);
    if (!plan) return std::nullopt;
    AuditedCase audited{&record, {}};
    for (std::size_t e = 0; e < estimators.size(); ++e) {
      audited.prices[e] = *record.predicted_ms;
      if (estimators[e].price == nullptr) continue;
      request.settings = settings_of(estimators[e], settings_[e]);
      const auto price = estimators[e].price(*plan, workload.tables, workload.features, request);
      if (!price) return std::nullopt;
      audited.prices[e] = estimators[e].seconds ? 1e3 * *price : 1.0 + *price;  // a plan of copies alone costs nothing
    }
    return audited;
  }

  /// A plan of `search` is that of the machine it was made for, which no record holds.
  static std::optional<placement::Plan> plan_again(const results::CaseRecord& record, const Workload& workload,
                                                   const placement::PlanRequest& request) {
    if (!placement::names_planner(record.plan) || record.plan.starts_with("search")) return std::nullopt;
    placement::Plan plan = placement::named_plan(record.plan, workload.tables, workload.features, request);
    const auto digest = record.details.find(results::plan_digest_field);
    if (digest != record.details.end() && *digest != placement::plan_digest(plan, workload.tables)) return std::nullopt;
    return plan;
  }

  std::array<std::string, estimators.size()> settings_;
  int per_node_;
};

std::vector<results::PredictedTime> times_of(std::span<const AuditedCase> cases, std::size_t estimator) {
  std::vector<results::PredictedTime> times;
  for (const AuditedCase& of : cases)
    times.push_back({of.prices[estimator], of.record->step_ms.median, of.record->step()});
  return times;
}

/// Lays out a line for each workload, and one of their means.
class AuditTable {
 public:
  AuditTable() {
    columns_.push_back({.header = "workload", .left_aligned = true});
    columns_.push_back({.header = "plans"});
    for (const Estimator& estimator : estimators) {
      if (estimator.seconds) columns_.push_back({.header = fmt::format("{}: MAPE", estimator.name)});
      columns_.push_back({.header = fmt::format("{}: Spearman", estimator.name)});
      columns_.push_back({.header = fmt::format("{}: regret", estimator.name)});
    }
  }

  void add(const std::string& workload, std::size_t measured, std::span<const AuditedCase> cases) {
    std::vector<std::string> cells{workload, fmt::format("{} of {}", cases.size(), measured)};
    for (std::size_t e = 0; e < estimators.size(); ++e) {
      const results::PredictionQuality quality = results::prediction_quality(times_of(cases, e));
      means_[e].add(quality);
      if (estimators[e].seconds) cells.push_back(percent(quality.mean_error));
      cells.push_back(correlation(quality.rank_correlation));
      cells.push_back(percent(quality.regret));
    }
    add(cells);
    ++workloads_;
  }

  std::string text() {
    std::vector<std::string> cells{"mean", ""};
    for (std::size_t e = 0; e < estimators.size(); ++e) {
      const auto count = static_cast<double>(workloads_);
      if (estimators[e].seconds) cells.push_back(percent(means_[e].error / count));
      cells.push_back(means_[e].correlated == 0
                          ? "-"
                          : correlation(means_[e].correlation / static_cast<double>(means_[e].correlated)));
      cells.push_back(percent(means_[e].regret / count));
    }
    add(cells);
    return results::markdown_table(columns_, lines_);
  }

 private:
  struct Mean {
    double error = 0.0, correlation = 0.0, regret = 0.0;
    std::int64_t correlated = 0;

    void add(const results::PredictionQuality& quality) {
      error += quality.mean_error;
      regret += quality.regret;
      correlation += quality.rank_correlation.value_or(0.0);
      correlated += quality.rank_correlation ? 1 : 0;
    }
  };

  static std::string percent(double share) { return fmt::format("{:.1f} %", 100.0 * share); }
  static std::string correlation(const std::optional<double>& rho) { return rho ? fmt::format("{:.2f}", *rho) : "-"; }
  void add(const std::vector<std::string>& cells) {
    for (std::size_t c = 0; c < cells.size(); ++c) columns_[c].cells.push_back(results::plain(cells[c]));
    lines_.push_back({lines_.size()});
  }

  std::vector<results::Column> columns_;
  std::vector<results::Line> lines_;
  std::array<Mean, estimators.size()> means_{};
  std::int64_t workloads_ = 0;
};

void audit(const AuditArguments& arguments) {
  const results::Results results = results::read_results(arguments.file);
  for (std::size_t e = 0; e < estimators.size(); ++e)
    if (estimators[e].price != nullptr) settings_of(estimators[e], arguments.settings[e]);
  std::vector<std::string> workloads;
  for (const results::CaseRecord& record : results.cases)
    if (std::ranges::find(workloads, record.workload) == workloads.end()) workloads.push_back(record.workload);
  const Auditor auditor(arguments, results);
  AuditTable table;
  bool any = false;
  for (const std::string& workload : workloads) {
    std::vector<AuditedCase> cases;
    std::size_t measured = 0;
    for (const results::CaseRecord& record : results.cases) {
      if (record.workload != workload) continue;
      ++measured;
      if (auto audited = auditor.audited(record)) cases.push_back(*audited);
    }
    if (cases.size() < 2) continue;
    table.add(workload, measured, cases);
    any = true;
  }
  if (!any)
    throw InputError(fmt::format(
        "{}: no workload has two predicted plans that can be made again and that TorchRec and HugeCTR price",
        arguments.file));
  fmt::print("{}", table.text());
}

}  // namespace

void define_results_audit(CLI::App& app) {
  const auto arguments = std::make_shared<AuditArguments>();
  app.add_option("FILE", arguments->file, "results file (.jsonl) of compare, whose cases were predicted")->required();
  for (std::size_t e = 0; e < estimators.size(); ++e)
    if (estimators[e].price != nullptr)
      app.add_option(fmt::format("--{}", estimators[e].planner), arguments->settings[e],
                     fmt::format("settings of planner {} (shardmark list planners) by which {} prices plans",
                                 estimators[e].planner, estimators[e].name))
          ->type_name("SETTING=VALUE:...");
  app.footer(
      "Prints, as Markdown, how well plans that were measured are told apart by what was predicted of them here, by\n"
      "TorchRec's estimate of a step and by the cost of HugeCTR's planner, of the plans that all three price. Plans "
      "are\n"
      "made again by their names; those of search, which depend on the machine, are left out.");
  app.callback([arguments] { audit(*arguments); });
}

}  // namespace shardmark::workloads
