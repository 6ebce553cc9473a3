// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/record.hpp"
#include "results/time_ratio.hpp"

namespace shardmark::results {

using Records = std::vector<const CaseRecord*>;

/// Ranks the records: valid before unchecked before wrong, then the fastest first, by the time per sample beside that
/// of the fastest, within the rounds that both share.
Records ranked(const Records& records);
Records ranked(std::span<const CaseRecord> records);

/// Returns what a user chose for the case: "plan", "workload", "ranks", "threads", or the name of an option; as people
/// read it.
std::string value_of(const CaseRecord& record, const std::string& field);

/// Returns the fields whose values differ between the records, in the order in which people decide: the plan, the
/// storage of the tables, what travels, the other options, and last the exchange. Options that some records lack are no
/// difference.
std::vector<std::string> differing_fields(const Records& records);

/// Returns the first of the differing fields, for whose values people ask which is best; "plan" when none differs.
std::string leading_field(const Records& records);

/// Returns for each value of the field the first record that has it, in their order.
Records leaders(const Records& records, const std::string& field);

/// Returns the number of independent samples, those behind the record's interval.
std::int64_t independent_samples(const CaseRecord& record);

/// Returns the median ms of a phase, where the record has it; exchange_ms() returns those of all that exchange: input,
/// output and gradients.
std::optional<double> phase_ms(const CaseRecord& record, std::string_view name);
double exchange_ms(const CaseRecord& record);

/// Returns the phases of a case with the ms of the step that are theirs, and "waiting" with what is nobody's and more
/// than half a percent: they add up to the step. Phases that are hidden behind others have none. It returns nothing
/// where phases overlap and the record does not say which part is whose.
std::vector<std::pair<std::string, double>> step_parts(const CaseRecord& record);

/// Returns a text such as "1.28 [1.25, 1.31]"; "1.28" where there is no interval.
std::string ratio_text(const TimeRatio& ratio);

/// Prints about four significant digits without an exponent: 0.123, 1.234, 12.34, 123.4, 12345.
std::string figure(double x);
/// Returns the decimals that figure() gives to the least of the numbers but 0: those of all of a column.
int decimals_of(std::span<const std::optional<double>> numbers);
/// Returns the cells of a column of figures, all with the same decimals; "-" where there is no number.
std::vector<std::string> figures(std::span<const std::optional<double>> numbers);
/// Prints 901891.4 as "901,891".
std::string with_commas(double x);
/// Replaces characters such as line ends, which would break what is printed, by '?'.
std::string plain(std::string text);
/// Returns the value at a path such as "/build/version", or "unknown".
std::string text_at(const nlohmann::ordered_json& json, const std::string& path);

}  // namespace shardmark::results
