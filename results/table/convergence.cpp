// SPDX-License-Identifier: Apache-2.0
#include "results/table/convergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "results/async_fields.hpp"

namespace shardmark::results {
namespace {

constexpr char convergence_row[] = "{:<7} {:<10} {:>4} {:>9} {:>10} {:>11} {:>8} {:>9} {:>8} {:>7}";

std::optional<double> number_of(const CaseRecord& record, const char* name) {
  const auto found = record.details.find(name);
  if (found == record.details.end() || !found->is_number()) return {};
  return found->get<double>();
}

std::string staleness_of(const CaseRecord& record) {
  const auto pipeline = record.details.find(async_fields::object);
  if (pipeline == record.details.end() || !pipeline->contains(async_fields::staleness)) return "-";
  const auto& stale = pipeline->at(async_fields::staleness);
  const auto at = [&](const char* name) { return stale.value(name, std::int64_t{0}); };
  return fmt::format("{},{},{}", at(async_fields::p50), at(async_fields::p99), at(async_fields::max));
}

std::string bound_of(const CaseRecord& record) {
  const auto pipeline = record.details.find(async_fields::object);
  if (pipeline == record.details.end() || !pipeline->contains(async_fields::bound)) return "-";
  return std::to_string(pipeline->at(async_fields::bound).get<std::int64_t>());
}

/// Returns what a line stands for: mode, order and bound.
std::vector<std::string> training_config(const CaseRecord& record) {
  return {record.option("async"), record.option("async_order"), bound_of(record)};
}

bool is_never_stale(const CaseRecord& record, bool off_is_there) {
  return off_is_there ? record.option("async") == "off" : bound_of(record) == "0";
}

std::string above(std::optional<double> value, std::optional<double> than) {
  if (!value || !than) return "-";
  return *value == *than ? "same" : fmt::format("{:+.5f}", *value - *than);
}

std::string quality_text(std::optional<double> value) { return value ? fmt::format("{:.5f}", *value) : "-"; }

/// Says whether a model has seen the samples of a step before.
std::string samples_text(const CaseRecord& record) {
  const double passes = number_of(record, "data_passes").value_or(0.0);
  return passes > 1.0 ? fmt::format("{:.2f} passes over the data", passes) : "each on new samples";
}

std::string line_of_training(const CaseRecord& record, const CaseRecord* never_stale) {
  const auto loss = number_of(record, "loss"), auc = number_of(record, "auc");
  const auto compared = [&](const char* name) {
    return never_stale == nullptr ? std::nullopt : number_of(*never_stale, name);
  };
  return fmt::format(
      convergence_row, plain(record.option("async")), plain(record.option("async_order")), bound_of(record),
      staleness_of(record), quality_text(loss), above(loss, compared("loss")), quality_text(auc),
      above(auc, compared("auc")), figure(record.step_ms.median),
      never_stale == nullptr ? "-" : fmt::format("{:.2f}", never_stale->step_ms.median / record.step_ms.median));
}

}  // namespace

std::vector<std::string> convergence_lines(const Records& ranked) {
  Records trained;
  for (const CaseRecord* record : ranked) {
    const auto same = [config = training_config(*record)](const CaseRecord* other) {
      return training_config(*other) == config;
    };
    if (number_of(*record, "trained_steps").value_or(0) > 0 && std::ranges::none_of(trained, same))
      trained.push_back(record);
  }
  if (trained.empty()) return {};
  std::ranges::stable_sort(trained, {}, [](const CaseRecord* record) {
    const std::string bound = bound_of(*record);
    return std::tuple(record->option("async") != "off", training_config(*record).front(), bound.size(), bound);
  });
  const bool off =
      std::ranges::any_of(trained, [](const CaseRecord* record) { return record->option("async") == "off"; });
  const auto found =
      std::ranges::find_if(trained, [&](const CaseRecord* record) { return is_never_stale(*record, off); });
  const CaseRecord* never_stale = found == trained.end() ? nullptr : *found;
  const std::string name = off ? "off" : "S 0";
  const std::string steps =
      fmt::format("of the latest {:.0f} of {:.0f} steps from the first weights on, {}",
                  number_of(*trained.front(), "auc_steps").value_or(0),
                  number_of(*trained.front(), "trained_steps").value_or(0), samples_text(*trained.front()));
  if (trained.size() == 1 && bound_of(*trained.front()) == "-")
    return {fmt::format("loss {}, auc {}: {}", quality_text(number_of(*trained.front(), "loss")),
                        quality_text(number_of(*trained.front(), "auc")), steps)};
  std::vector<std::string> lines{fmt::format(convergence_row, "async", "order", "S", "stale", "loss", "- " + name,
                                             "auc", "- " + name, "ms", name + "/ms")};
  for (const CaseRecord* record : trained) lines.push_back(line_of_training(*record, never_stale));
  lines.push_back(fmt::format("loss and auc: {};", steps));
  lines.push_back(fmt::format("- {}: above those of steps that are not stale; same: to the last bit;", name));
  lines.push_back(fmt::format("stale: updates that rows lack (p50,p99,max); {}/ms: times as fast", name));
  return lines;
}

}  // namespace shardmark::results
