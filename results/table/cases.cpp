// SPDX-License-Identifier: Apache-2.0
#include "results/table/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/json_text.hpp"
#include "results/statistics.hpp"
#include "results/verdict.hpp"

namespace shardmark::results {
namespace {

bool all_have(const Records& records, const std::string& option) {
  return std::ranges::all_of(records, [&](const CaseRecord* record) { return record->options.contains(option); });
}

}  // namespace

Records ranked(const Records& records) {
  struct Ranked {
    const CaseRecord* record;
    int verdict;
    double ratio;
  };
  Records valid;
  std::ranges::copy_if(records, std::back_inserter(valid), [](const CaseRecord* record) { return is_valid(*record); });
  const CaseRecord* best = valid.empty() ? nullptr : fastest(valid);
  std::vector<Ranked> order;
  for (const CaseRecord* record : records)
    order.push_back({record,
                     is_valid(*record)    ? 0
                     : record->wrong == 0 ? 1
                                          : 2,
                     best ? time_ratio(*record, *best).ratio : 1.0 / record->samples_per_s});
  std::ranges::stable_sort(order, {}, [](const Ranked& each) { return std::pair(each.verdict, each.ratio); });
  Records sorted;
  for (const Ranked& each : order) sorted.push_back(each.record);
  return sorted;
}

Records ranked(std::span<const CaseRecord> records) {
  Records all;
  for (const CaseRecord& record : records) all.push_back(&record);
  return ranked(all);
}

std::string value_of(const CaseRecord& record, const std::string& field) {
  if (field == "plan") return plain(record.plan);
  if (field == "workload") return plain(record.workload);
  if (field == "ranks") return std::to_string(record.ranks);
  if (field == "threads") return std::to_string(record.threads);
  const std::string value = plain(record.option(field));
  return field == "scale" && value != "1" && value != "-" ? "1/" + value : value;
}

std::vector<std::string> differing_fields(const Records& records) {
  std::vector<std::string> fields{"plan", "workload", "ranks", "threads", "transfer"};
  if (all_have(records, "storage")) fields.insert(fields.begin() + 1, "storage");
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(fields, name) == fields.end() && name != "exchange" && all_have(records, name))
      fields.push_back(name);
  };
  if (!records.empty())
    for (const auto& item : records.front()->options.items()) add(item.key());
  fields.push_back("exchange");
  std::erase_if(fields, [&](const std::string& field) {
    return std::ranges::all_of(records, [&](const CaseRecord* record) {
      return value_of(*record, field) == value_of(*records.front(), field);
    });
  });
  return fields;
}

std::string leading_field(const Records& records) {
  const auto fields = differing_fields(records);
  return fields.empty() ? "plan" : fields.front();
}

Records leaders(const Records& records, const std::string& field) {
  Records first;
  for (const CaseRecord* record : records) {
    const auto same = [&](const CaseRecord* other) { return value_of(*other, field) == value_of(*record, field); };
    if (std::ranges::none_of(first, same)) first.push_back(record);
  }
  return first;
}

std::int64_t independent_samples(const CaseRecord& record) { return record.step_ms.visit_count(); }

std::optional<double> phase_ms(const CaseRecord& record, std::string_view name) {
  const auto phase = std::ranges::find(record.phases, name, &PhaseTime::name);
  return phase == record.phases.end() ? std::nullopt : std::optional(phase->median_ms);
}

double exchange_ms(const CaseRecord& record) {
  double ms = 0.0;
  for (const PhaseTime& phase : record.phases)
    if (phase.name.ends_with("_dist")) ms += phase.median_ms;
  return ms;
}

std::vector<std::pair<std::string, double>> step_parts(const CaseRecord& record) {
  constexpr double overlapping = 1.25, negligible = 0.005;  // of the step
  std::vector<std::pair<std::string, double>> parts;
  double sum = 0.0, medians = 0.0;
  for (const PhaseTime& phase : record.phases) {
    parts.emplace_back(phase.name, phase.path_ms.value_or(phase.median_ms));
    sum += parts.back().second;
    medians += phase.median_ms;
  }
  const double step = record.step_ms.median;
  if (record.phases.empty() || (!record.phases.front().path_ms && medians > overlapping * step)) return {};
  if (step - sum > negligible * step) parts.emplace_back("waiting", step - sum);
  return parts;
}

std::string ratio_text(const TimeRatio& r) {
  if (r.rounds > 0 && r.rounds < samples_for_interval) return fmt::format("{:.2f}", r.ratio);
  const int decimals = std::max(r.high - r.low, std::fabs(r.ratio - 1.0)) < 0.05 ? 3 : 2;  // else 1.00 [1.00, 1.00]
  return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", r.ratio, decimals, r.low, decimals, r.high, decimals);
}

namespace {
int usual_decimals(double x) { return x < 10.0 ? 3 : x < 100.0 ? 2 : x < 1000.0 ? 1 : 0; }
}  // namespace

std::string figure(double x) { return fmt::format("{:.{}f}", x, usual_decimals(x)); }

int decimals_of(std::span<const std::optional<double>> numbers) {
  int decimals = 0;
  for (const std::optional<double>& number : numbers)
    if (number && *number != 0.0) decimals = std::max(decimals, usual_decimals(*number));
  return decimals;
}

std::vector<std::string> figures(std::span<const std::optional<double>> numbers) {
  const int decimals = decimals_of(numbers);
  std::vector<std::string> cells;
  for (const std::optional<double>& number : numbers)
    cells.push_back(number ? fmt::format("{:.{}f}", *number, decimals) : "-");
  return cells;
}

std::string with_commas(double x) {
  std::string text = fmt::format("{:.0f}", x);
  for (std::ptrdiff_t i = std::ssize(text) - 3; i > 0; i -= 3) text.insert(static_cast<std::size_t>(i), ",");
  return text;
}

std::string plain(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  return text;
}

std::string text_at(const nlohmann::ordered_json& json, const std::string& path) {
  const nlohmann::ordered_json::json_pointer pointer(path);
  return json.contains(pointer) && !json.at(pointer).is_null() ? plain(text_of(json.at(pointer))) : "unknown";
}

}  // namespace shardmark::results
