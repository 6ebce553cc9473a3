// SPDX-License-Identifier: Apache-2.0
#include "results/comparison_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "reference/named.hpp"

namespace shardmark::results {
namespace {

constexpr std::array<std::string_view, 5> change_names{"better", "worse", "same", "unclear", "missing"};

std::string time_text(double ms) {
  if (ms < 1e-3) return fmt::format("{:.4g} ns", ms * 1e6);
  if (ms < 1.0) return fmt::format("{:.4g} µs", ms * 1e3);
  return ms < 1e3 ? fmt::format("{:.4g} ms", ms) : fmt::format("{:.4g} s", ms * 1e-3);
}

/// Returns text of a file, kept inside its cell.
std::string cell(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|') safe += '\\';
    safe += c == '\n' || c == '\r' ? ' ' : c;
  }
  return safe;
}

std::string verdict_text(const CaseComparison& each) {
  const bool loud = each.change == Change::worse || each.change == Change::better;
  std::string text = loud ? fmt::format("**{}**", name_of(each.change)) : std::string(name_of(each.change));
  if (!each.advice.empty()) text += ": " + cell(each.advice);
  return text;
}

std::string row(const CaseComparison& each) {
  if (each.ratio == 0.0) return fmt::format("| {} | – | – | – | – | – | {} |\n", cell(each.name), verdict_text(each));
  return fmt::format("| {} | {} | {} | {:.3f} [{:.3f}, {:.3f}] | {} | {:.2g} | {} |\n", cell(each.name),
                     time_text(each.old_ms), time_text(each.new_ms), each.ratio, each.low, each.high,
                     each.floor ? fmt::format("{:.1f} %", *each.floor * 100.0) : "–", each.p, verdict_text(each));
}

/// Returns the counts, and the slowest case of NEW; it names what fails.
std::string summary(std::span<const CaseComparison> cases, std::optional<double> fail_above) {
  const auto ratio_of = [](const CaseComparison& each) {
    return fmt::format("{} {:.3f} [{:.3f}, {:.3f}]", each.name, each.ratio, each.low, each.high);
  };
  std::string text = counts_text(cases);
  if (const auto slowest = std::ranges::max_element(cases, {}, &CaseComparison::ratio);
      slowest != cases.end() && slowest->ratio > 0.0)
    text += "; slowest: " + ratio_of(*slowest);
  text += '\n';
  if (!fail_above) return text;
  std::vector<std::string> failing;
  for (const CaseComparison& each : cases)
    if (each.fails) failing.push_back(each.ratio > 0.0 ? ratio_of(each) : each.name);
  text += fmt::format("{} of {} more than {:g} % slower{}", failing.empty() ? "none" : std::to_string(failing.size()),
                      cases.size(), 100.0 * *fail_above, failing.empty() ? "" : ": ");
  for (std::size_t i = 0; i < failing.size(); ++i) text += (i > 0 ? ", " : "") + failing[i];
  return text + '\n';
}

/// Orders the changes: what calls for action comes first.
int urgency(const CaseComparison& each) {
  constexpr std::array places{3, 0, 4, 1, 2};  // of better, worse, same, unclear, missing
  return places[index_of(each.change)];
}

}  // namespace

std::string_view name_of(Change change) { return change_names[index_of(change)]; }

std::array<std::int64_t, 5> count_changes(std::span<const CaseComparison> cases) {
  std::array<std::int64_t, 5> counts{};
  for (const CaseComparison& each : cases) ++counts[index_of(each.change)];
  return counts;
}

std::string counts_text(std::span<const CaseComparison> cases) {
  const auto counts = count_changes(cases);
  std::string text;
  for (const Change change : {Change::worse, Change::better, Change::same, Change::unclear, Change::missing})
    text += fmt::format("{} {}, ", counts[index_of(change)], name_of(change));
  return text + fmt::format("of {} {}", cases.size(), cases.size() == 1 ? "case" : "cases");
}

std::string comparison_table(std::span<const CaseComparison> cases, const std::string& heading,
                             std::optional<double> fail_above) {
  std::vector<const CaseComparison*> order;
  for (const CaseComparison& each : cases) order.push_back(&each);
  std::ranges::stable_sort(order, {}, [](const CaseComparison* each) { return urgency(*each); });
  std::string text = heading + "\n\n" + summary(cases, fail_above);
  text += "\n| case | old | new | new / old [95 %] | floor | p | verdict |\n";
  text += "|:--|--:|--:|:--|--:|--:|:--|\n";
  for (const CaseComparison* each : order) text += row(*each);
  const auto counts = count_changes(cases);
  const auto of = [&](Change change) { return counts[index_of(change)]; };
  const bool settled = of(Change::unclear) + of(Change::missing) == 0;
  const bool failed = fail_above && std::ranges::any_of(cases, &CaseComparison::fails);
  const char* result = of(Change::worse) > 0 ? "WORSE" : failed ? "FAILED" : settled ? "NOT WORSE" : "UNCLEAR";
  return text + fmt::format("\nRESULT: {} ({})\n", result, counts_text(cases));
}

std::string floors_text(std::span<const BaselineFloor> floors, std::int64_t launches) {
  if (floors.empty()) return "this baseline can show no change: 3 launches or more tell its noise\n";
  const BaselineFloor &middle = floors[floors.size() / 2], &noisiest = floors.front();
  return fmt::format(
      "this baseline of {} launches can show changes above {:.1f} % only (its median case; up to {:.1f} % in {}), in "
      "as "
      "many pairs above {:.1f} %\n",
      launches, 100.0 * *middle.unpaired, 100.0 * *noisiest.unpaired, noisiest.name, 100.0 * *middle.paired);
}

}  // namespace shardmark::results
