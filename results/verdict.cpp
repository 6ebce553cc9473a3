// SPDX-License-Identifier: Apache-2.0
#include "results/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "results/disturbance.hpp"
#include "results/json_text.hpp"
#include "results/time_ratio.hpp"

namespace shardmark::results {
namespace {

/// Returns the fastest of the valid cases that `wanted` accepts.
template <class Wanted>
const CaseRecord* best_where(std::span<const CaseRecord> records, Wanted&& wanted) {
  std::vector<const CaseRecord*> valid;
  for (const CaseRecord& record : records)
    if (is_valid(record) && wanted(record)) valid.push_back(&record);
  return valid.empty() ? nullptr : fastest(valid);
}

const CaseRecord* best_of_plan(std::span<const CaseRecord> records, std::string_view plan) {
  return best_where(records, [&](const CaseRecord& record) { return record.plan == plan; });
}

/// "interrupted by SIGUSR1, after 12 rounds"; empty when the environment record has no state.
std::string interruption(const nlohmann::ordered_json& environment) {
  if (!environment.is_object() || !environment.contains("state")) return "";
  const std::string state = text_of(environment.at("state"));
  const std::string rounds = environment.contains("rounds") ? text_of(environment.at("rounds")) : "0";
  return fmt::format("{}, after {} round{}", state == "running" ? "still running, or cut off" : state, rounds,
                     rounds == "1" ? "" : "s");
}

}  // namespace

const CaseRecord* best_valid_case(std::span<const CaseRecord> records) {
  return best_where(records, [](const CaseRecord&) { return true; });
}

void record_ratios(std::vector<CaseRecord>& records) {
  const CaseRecord* best = best_valid_case(records);
  if (records.size() < 2 || best == nullptr) return;
  const std::int64_t pairs = pairs_of(std::ranges::count_if(records, is_valid));
  for (CaseRecord& record : records) {
    const TimeRatio r =
        &record == best ? TimeRatio{1.0, 1.0, 1.0, best->step_ms.visit_count()} : time_ratio(record, *best, pairs);
    record.details[vs_best_field] = {
        {"ratio", r.ratio}, {"low", r.low}, {"high", r.high}, {"rounds", r.rounds}, {"best_ms", best->step_ms.median}};
  }
}

std::string Verdict::line() const {
  if (valid)
    return fmt::format("RESULT: {}{}", interrupted.empty() ? "VALID" : fmt::format("INTERRUPTED ({})", interrupted),
                       disturbed ? ", DISTURBED" : "");
  return fmt::format("RESULT: INVALID ({}{}{})", reason, interrupted.empty() ? "" : "; ", interrupted);
}

Verdict verdict_of(std::span<const CaseRecord> records, const nlohmann::ordered_json& environment) {
  const std::string interrupted = interruption(environment);
  if (records.empty()) return {false, "no case was measured", interrupted, false};
  const auto is_wrong = [](const CaseRecord& record) { return record.wrong > 0; };
  const auto is_unchecked = [](const CaseRecord& record) { return record.wrong == 0 && record.checked_steps == 0; };
  std::string reason;
  if (const auto wrong = std::ranges::count_if(records, is_wrong); wrong > 0) {
    const CaseRecord& first = *std::ranges::find_if(records, is_wrong);
    reason = fmt::format("wrong values in {} of {} cases, first {} {} {}: {} wrong", wrong, records.size(), first.plan,
                         first.option("transfer"), first.option("exchange"), first.wrong);
    if (first.details.contains(first_wrong_field))
      reason += ", " + first.details.at(first_wrong_field).get<std::string>();
  }
  if (const auto unchecked = std::ranges::count_if(records, is_unchecked); unchecked > 0)
    reason += fmt::format("{}{} of {} cases unchecked", reason.empty() ? "" : "; ", unchecked, records.size());
  return {reason.empty(), reason, interrupted, std::ranges::any_of(records, is_disturbed)};
}

std::optional<std::string> beside_published(std::span<const CaseRecord> records, std::string_view fast,
                                            std::string_view slow, double published, std::string_view source) {
  const CaseRecord* numerator = best_of_plan(records, fast);
  const CaseRecord* denominator = best_of_plan(records, slow);
  if (!numerator || !denominator) return std::nullopt;
  return fmt::format("{} / {}: {:.2f} here, {} published ({})", fast, slow, time_ratio(*denominator, *numerator).ratio,
                     published, source);
}

}  // namespace shardmark::results
