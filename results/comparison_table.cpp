// SPDX-License-Identifier: Apache-2.0
#include "results/comparison_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "reference/named.hpp"

namespace shardmark {
namespace {

constexpr std::array<std::string_view, 5> change_names{"better", "worse", "same", "unclear", "missing"};

std::string_view name_of(Change change) { return change_names[index_of(change)]; }

std::string time_text(double ms) {
  if (ms < 1e-3) return fmt::format("{:.4g} ns", ms * 1e6);
  if (ms < 1.0) return fmt::format("{:.4g} µs", ms * 1e3);
  return ms < 1e3 ? fmt::format("{:.4g} ms", ms) : fmt::format("{:.4g} s", ms * 1e-3);
}

/// Text of a file, kept inside its cell.
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

/// What calls for action first.
int urgency(const CaseComparison& each) {
  constexpr std::array places{3, 0, 4, 1, 2};  // of better, worse, same, unclear, missing
  return places[index_of(each.change)];
}

}  // namespace

std::array<std::int64_t, 5> count_changes(std::span<const CaseComparison> cases) {
  std::array<std::int64_t, 5> counts{};
  for (const CaseComparison& each : cases) ++counts[index_of(each.change)];
  return counts;
}

std::string comparison_table(std::span<const CaseComparison> cases, const std::string& heading) {
  std::vector<const CaseComparison*> order;
  for (const CaseComparison& each : cases) order.push_back(&each);
  std::ranges::stable_sort(order, {}, [](const CaseComparison* each) { return urgency(*each); });
  std::string text = heading + "\n| case | old | new | new / old [95 %] | floor | p | verdict |\n";
  text += "|:--|--:|--:|:--|--:|--:|:--|\n";
  for (const CaseComparison* each : order) text += row(*each);
  const auto counts = count_changes(cases);
  const auto of = [&](Change change) { return counts[index_of(change)]; };
  const bool settled = of(Change::unclear) + of(Change::missing) == 0;
  text += fmt::format("\nRESULT: {} (", of(Change::worse) > 0 ? "WORSE" : settled ? "NOT WORSE" : "UNCLEAR");
  for (const Change change : {Change::worse, Change::better, Change::same, Change::unclear, Change::missing})
    text += fmt::format("{} {}, ", of(change), name_of(change));
  return text + fmt::format("of {} {})\n", cases.size(), cases.size() == 1 ? "case" : "cases");
}

}  // namespace shardmark
