// SPDX-License-Identifier: Apache-2.0
#include "results/comparison_formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the text with each character that stands in `special` replaced.
std::string escaped(std::string_view text, std::span<const std::pair<char, std::string_view>> special) {
  std::string out;
  for (const char c : text) {
    const auto found = std::ranges::find(special, c, &std::pair<char, std::string_view>::first);
    out += found == special.end() ? std::string(1, c) : std::string(found->second);
  }
  return out;
}

/// Escapes the message of a workflow command, and with `property` one of its properties.
std::string for_github(std::string_view text, bool property = false) {
  constexpr std::array<std::pair<char, std::string_view>, 5> special{
      {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}, {':', "%3A"}, {',', "%2C"}}};
  return escaped(text, std::span(special).first(property ? 5 : 3));
}

std::string for_xml(std::string_view text) {
  constexpr std::array<std::pair<char, std::string_view>, 6> special{
      {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\n', "&#10;"}, {'\r', "&#13;"}}};
  std::string printable(text);
  std::erase_if(printable, [](unsigned char c) { return c < 0x20 && c != '\n' && c != '\r' && c != '\t'; });
  return escaped(printable, special);
}

/// Returns "worse: 1.050 times the time of OLD [1.040, 1.060]; ...".
std::string what_changed(const CaseComparison& each) {
  std::string text(name_of(each.change));
  if (each.ratio > 0.0)
    text += fmt::format(": {:.3f} times the time of OLD [{:.3f}, {:.3f}]", each.ratio, each.low, each.high);
  return each.advice.empty() ? text : text + "; " + each.advice;
}

Json interval(double value, double low, double high) {
  return {{"value", value}, {"lower_value", low}, {"upper_value", high}};
}

}  // namespace

std::string comparison_as_text(const ComparisonReport& report) {
  return comparison_table(report.cases, report.heading, report.fail_above);
}

std::string comparison_as_github(const ComparisonReport& report) {
  std::string out;
  for (const CaseComparison& each : report.cases) {
    const bool fails = fails_gate(each, report.strict);
    if (fails || each.change == Change::unclear || each.change == Change::missing)
      out += fmt::format("::{} title={}::{}\n", fails ? "error" : "warning", for_github(each.name, true),
                         for_github(what_changed(each)));
  }
  return out + fmt::format("::notice title=shardmark::{}. {}\n", for_github(counts_text(report.cases)),
                           for_github(report.heading));
}

std::string comparison_as_junit(const ComparisonReport& report) {
  std::string tests;
  std::int64_t failures = 0, skipped = 0;
  for (const CaseComparison& each : report.cases) {
    const std::string text = for_xml(what_changed(each));
    tests += fmt::format("  <testcase classname=\"shardmark\" name=\"{}\" time=\"{:.9f}\"", for_xml(each.name),
                         each.new_ms * 1e-3);
    if (fails_gate(each, report.strict)) {
      tests += fmt::format("><failure message=\"{}\"/></testcase>\n", text);
      ++failures;
    } else if (each.change == Change::unclear || each.change == Change::missing) {
      tests += fmt::format("><skipped message=\"{}\"/></testcase>\n", text);
      ++skipped;
    } else {
      tests += fmt::format("><system-out>{}</system-out></testcase>\n", text);
    }
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"shardmark\" tests=\"{}\" failures=\"{}\" "
      "errors=\"0\" skipped=\"{}\">\n{}  <system-out>{}</system-out>\n</testsuite>\n",
      report.cases.size(), failures, skipped, tests, for_xml(report.heading));
}

std::string comparison_as_bmf(const ComparisonReport& report) {
  Json json = Json::object();
  for (const CaseComparison& each : report.cases)
    if (each.ratio > 0.0)
      json[each.name] = {{"latency", {{"value", each.new_ms * 1e6}}},
                         {"ratio", interval(each.ratio, each.low, each.high)}};
  return json.dump(1) + '\n';
}

std::string comparison_as_json(const ComparisonReport& report) {
  Json cases = Json::array();
  for (const CaseComparison& each : report.cases) {
    Json json{{"case", each.name}, {"change", name_of(each.change)}, {"fails", fails_gate(each, report.strict)}};
    if (each.ratio > 0.0)
      json.update(Json{{"old_ms", each.old_ms},
                       {"new_ms", each.new_ms},
                       {"ratio", each.ratio},
                       {"low", each.low},
                       {"high", each.high},
                       {"p", each.p}});
    if (each.floor) json["floor"] = *each.floor;
    if (!each.advice.empty()) json["advice"] = each.advice;
    cases.push_back(std::move(json));
  }
  return Json{{"compared", report.heading}, {"counts", counts_text(report.cases)}, {"cases", cases}}.dump(1) + '\n';
}

}  // namespace shardmark::results
