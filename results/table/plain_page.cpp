// SPDX-License-Identifier: Apache-2.0
#include "results/table/plain_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "results/google_benchmark.hpp"
#include "results/json_text.hpp"
#include "results/table/exchanges.hpp"
#include "results/table/page.hpp"
#include "results/verdict.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::pair<std::string, std::string>>;  // keys and values

PlainPage exchange_page(const Report& report) {
  PlainPage page{.where = where_lines(report.environment),
                 .columns = exchange_columns(report.exchanges),
                 .lines = exchange_order(report.exchanges),
                 .findings = exchange_findings(report.exchanges),
                 .result = exchange_verdict(report.exchanges)};
  std::ranges::move(exchange_legend(), std::back_inserter(page.where));
  return page;
}

/// Keys of Google Benchmark's context that say what ran where, as this project's programs and the library write them.
constexpr std::array context_keys{"shardmark", "git_hash", "build_type", "compiler", "date",  "host_name",
                                  "cpu",       "num_cpus", "threads",    "scale",    "flags", "transparent_huge_pages"};

/// Returns the words of a name such as "lookup/case:a/rows:10/manual_time": "benchmark" is what has no key.
Words words_of(const std::string& name) {
  Words words{{"benchmark", ""}};
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string word = plain(name.substr(begin, end - begin));
    const std::size_t colon = word.find(':');
    begin = end + 1;
    if (word == "manual_time" || word == "real_time" || word == "process_time") continue;
    if (colon == std::string::npos)
      words.front().second += (words.front().second.empty() ? "" : "/") + word;
    else
      words.emplace_back(word.substr(0, colon), word.substr(colon + 1));
  }
  return words;
}

std::string value_in(const Words& words, const std::string& key) {
  const auto found = std::ranges::find(words, key, &Words::value_type::first);
  return found == words.end() ? "-" : found->second;
}

/// Returns all keys in the order in which they first occur.
template <class Rows, class PairsOf>
std::vector<std::string> keys_of(const Rows& rows, PairsOf&& pairs_of_row) {
  std::vector<std::string> keys;
  for (const auto& row : rows)
    for (const auto& pair : pairs_of_row(row))
      if (std::ranges::find(keys, pair.first) == keys.end()) keys.push_back(pair.first);
  return keys;
}

/// Says which keys of the names go where.
struct Keys {
  bool has_case = false;
  std::vector<std::string> differing;  ///< neither of these:
  std::vector<std::string> remarks;    ///< what is the same for all, and what follows from the case
};

Keys sorted_keys(const std::vector<Words>& words) {
  Keys keys;
  std::vector<std::string> of_all;
  std::map<std::string, std::string> of_case;  // what follows from each
  for (const std::string& key : keys_of(words, [](const Words& each) { return each; })) {
    if (key == "benchmark") continue;
    std::map<std::string, std::set<std::string>> values;  // of each case
    std::set<std::string> all;
    for (const Words& each : words) {
      values[value_in(each, "case")].insert(value_in(each, key));
      all.insert(value_in(each, key));
    }
    const bool follows = std::ranges::all_of(values, [](const auto& of) { return of.second.size() == 1; });
    if (all.size() == 1)
      of_all.push_back(fmt::format("{} {}", key, *all.begin()));
    else if (key == "case")
      keys.has_case = true;
    else if (follows && values.size() > 1)
      for (const auto& [name, value] : values) {
        if (*value.begin() != "-") of_case[name] += fmt::format(", {} {}", key, *value.begin());
      }
    else
      keys.differing.push_back(key);
  }
  if (!of_all.empty()) keys.remarks.push_back(fmt::format("{}", fmt::join(of_all, ", ")));
  for (const auto& [name, text] : of_case) keys.remarks.push_back(fmt::format("case {}: {}", name, text.substr(2)));
  return keys;
}

std::string counter_text(const BenchmarkRow& row, const std::string& counter) {
  const auto found = std::ranges::find(row.counters, counter, [](const auto& each) { return each.first; });
  if (found == row.counters.end()) return "-";
  return std::abs(found->second) < 1e6 ? figure(found->second) : fmt::format("{:.4g}", found->second);
}

PlainPage benchmark_page(const Report& report) {
  /// Counters take their place in this order, if they still fit.
  constexpr std::array kinds{Importance::ratio,    Importance::verdict, Importance::prediction, Importance::limit,
                             Importance::interval, Importance::phase,   Importance::memory,     Importance::rate,
                             Importance::traffic,  Importance::error,   Importance::saving,     Importance::balance,
                             Importance::overlap,  Importance::remark};
  const std::vector<BenchmarkRow> rows = benchmark_rows(*report.benchmarks, report.name);
  PlainPage page;
  std::vector<std::string> where;
  for (const char* key : context_keys)
    if (report.environment.contains(key))
      where.push_back(fmt::format("{} {}", key, text_at(report.environment, fmt::format("/{}", key))));
  if (!where.empty()) page.where.push_back(fmt::format("{}", fmt::join(where, ", ")));
  page.where.emplace_back(
      "time us: real time of an iteration, the median of the repetitions; counters are those of the benchmarks");

  std::vector<Words> words;
  for (const BenchmarkRow& row : rows) words.push_back(words_of(row.name));
  const auto add = [&](std::string header, Importance importance, bool left_aligned, auto&& cell) {
    Column column{std::move(header), importance, left_aligned};
    for (std::size_t i = 0; i < rows.size(); ++i) column.cells.push_back(cell(i));
    page.columns.push_back(std::move(column));
  };
  const Keys keys = sorted_keys(words);
  add("benchmark", Importance::choice, true, [&](std::size_t i) { return value_in(words[i], "benchmark"); });
  if (keys.has_case) add("case", Importance::choice, true, [&](std::size_t i) { return value_in(words[i], "case"); });
  if (!keys.differing.empty()) {
    add("variant", Importance::choice, true, [&](std::size_t i) {
      std::string text;
      for (const std::string& key : keys.differing)
        if (const std::string value = value_in(words[i], key); value != "-") text += (text.empty() ? "" : " ") + value;
      return text;
    });
    page.where.push_back(fmt::format("variant: {}", fmt::join(keys.differing, ", ")));
  }
  std::ranges::copy(keys.remarks, std::back_inserter(page.where));
  add("time us", Importance::choice, false,
      [&](std::size_t i) { return rows[i].error.empty() ? figure(1e3 * rows[i].median_ms) : std::string("error"); });
  std::size_t number = 0;
  for (const std::string& counter : keys_of(rows, [](const BenchmarkRow& row) { return row.counters; }))
    add(counter, kinds[number++ % kinds.size()], false, [&](std::size_t i) { return counter_text(rows[i], counter); });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    page.lines.push_back({i});
    if (!rows[i].error.empty())
      page.findings += fmt::format("# error of {}: {}\n", plain(rows[i].name), plain(rows[i].error));
  }
  return page;
}

}  // namespace

Report report_of(const Results& results, const std::string& name) {
  return {.environment = results.environment,
          .cases = results.cases,
          .name = name,
          .exchanges = results.exchanges,
          .benchmarks = results.benchmarks.is_null() ? nullptr : &results.benchmarks};
}

bool is_right(const Report& report) {
  if (report.benchmarks) return true;
  return report.exchanges.empty() ? verdict_of(report.cases).valid : are_valid(report.exchanges);
}

std::string result_line(const Report& report) {
  if (report.benchmarks) return "";
  return report.exchanges.empty() ? verdict_of(report.cases, report.environment).line()
                                  : exchange_verdict(report.exchanges);
}

std::optional<PlainPage> plain_page_of(const Report& report) {
  if (report.benchmarks) return benchmark_page(report);
  if (!report.exchanges.empty()) return exchange_page(report);
  return std::nullopt;
}

std::string plain_text(const PlainPage& page, const TableOptions& options) {
  std::string text;
  for (const std::string& line : page.where) text += wrapped(line, "# ", "#   ", options.width);
  const Layout layout = laid_out(page.columns, page.lines, options.width);
  if (!layout.left_out.empty())
    text += wrapped(fmt::format("left out, as lines would be too long: {} (--format csv has them)",
                                fmt::join(layout.left_out, ", ")),
                    "# ", "#   ", options.width);
  text += text_lines(layout.columns, page.lines) + page.findings;
  return page.result.empty() ? text : text + page.result + '\n';
}

std::string plain_markdown(const PlainPage& page) {
  std::string text;
  for (const std::string& line : page.where) text += fmt::format("- {}\n", line);
  text += '\n' + markdown_table(page.columns, page.lines);
  if (!page.findings.empty()) text += fmt::format("\n```\n{}```\n", page.findings);
  return page.result.empty() ? text : fmt::format("{}\n{}\n", text, page.result);
}

}  // namespace shardmark::results
