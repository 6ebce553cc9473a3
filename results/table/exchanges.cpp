// SPDX-License-Identifier: Apache-2.0
#include "results/table/exchanges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "reference/size.hpp"
#include "results/table/cases.hpp"

namespace shardmark::results {
namespace {

/// A column of the table: its usual width while lines are printed one by one, and its cell.
struct ExchangeColumn {
  std::string_view header;
  int width;
  bool left_aligned;
  std::string (*cell)(const ExchangeRecord&);
};

constexpr std::array exchange_table{
    ExchangeColumn{"skew", 8, true, [](const ExchangeRecord& r) { return plain(r.skew); }},
    ExchangeColumn{"bytes", 8, false, [](const ExchangeRecord& r) { return size_text(r.bytes); }},
    ExchangeColumn{"exchange", 22, true, [](const ExchangeRecord& r) { return plain(r.exchange); }},
    ExchangeColumn{"min us", 10, false,
                   [](const ExchangeRecord& r) { return fmt::format("{:.1f}", 1e3 * r.time_ms.min); }},
    ExchangeColumn{"median us", 10, false,
                   [](const ExchangeRecord& r) { return fmt::format("{:.1f}", 1e3 * r.time_ms.median); }},
    ExchangeColumn{"p99 us", 10, false,
                   [](const ExchangeRecord& r) { return fmt::format("{:.1f}", 1e3 * r.time_ms.p99); }},
    ExchangeColumn{"algbw GB/s", 10, false,
                   [](const ExchangeRecord& r) { return fmt::format("{:.3f}", 1e-9 * r.algorithm_rate()); }},
    ExchangeColumn{"busbw GB/s", 10, false,
                   [](const ExchangeRecord& r) { return fmt::format("{:.3f}", 1e-9 * r.bus_rate()); }},
    ExchangeColumn{"limit %", 7, false,
                   [](const ExchangeRecord& r) {
                     return r.ping_pong_ms ? fmt::format("{:.0f}", 100 * *r.ping_pong_ms / r.time_ms.median) : "-";
                   }},
    ExchangeColumn{"wrong", 7, false, [](const ExchangeRecord& r) { return std::to_string(r.wrong); }},
};

/// Prints one line; text_of(column) is its cell.
template <class TextOf>
std::string exchange_line(TextOf&& text_of) {
  std::string line;
  for (const ExchangeColumn& column : exchange_table) {
    if (!line.empty()) line += column.left_aligned ? "  " : " ";
    line += column.left_aligned ? fmt::format("{:<{}}", text_of(column), column.width)
                                : fmt::format("{:>{}}", text_of(column), column.width);
  }
  return line + '\n';
}

/// Calls action(records of a traffic) for each traffic, in their order.
template <class Action>
void for_each_traffic(std::span<const ExchangeRecord> records, Action&& action) {
  while (!records.empty()) {
    const auto end = std::ranges::find_if(
        records, [&](const ExchangeRecord& record) { return !record.same_traffic(records.front()); });
    const auto count = static_cast<std::size_t>(end - records.begin());
    action(records.first(count));
    records = records.subspan(count);
  }
}

const ExchangeRecord* record_on(std::span<const ExchangeRecord> records, std::string_view exchange) {
  const auto found = std::ranges::find(records, exchange, &ExchangeRecord::exchange);
  return found == records.end() ? nullptr : &*found;
}

/// Returns one time / another, and the least and most that the two intervals allow.
std::string exchange_ratio_text(const ExchangeTime& one, const ExchangeTime& other) {
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", one.median / other.median, one.low / other.high, one.high / other.low);
}

std::string violation(std::span<const ExchangeRecord> traffic) {
  const ExchangeRecord* of_library = record_on(traffic, library_exchange);
  if (!of_library) return "";
  std::vector<const ExchangeRecord*> faster;
  for (const ExchangeRecord& record : traffic)
    if (record.time_ms.high < of_library->time_ms.low) faster.push_back(&record);
  if (faster.empty()) return "";
  std::ranges::sort(faster, {}, [](const ExchangeRecord* record) { return record->time_ms.median; });
  std::string text =
      fmt::format("{:<8} {:>8}  {:<22} {:>20}", plain(of_library->skew), size_text(of_library->bytes),
                  plain(faster.front()->exchange), exchange_ratio_text(of_library->time_ms, faster.front()->time_ms));
  for (std::size_t i = 1; i < faster.size(); ++i)
    text += fmt::format("{}{}", i == 1 ? "  also " : ", ", plain(faster[i]->exchange));
  return text + '\n';
}

/// Describes the traffic on which `auto` does worst beside the library, and how often that is more than chance.
std::string automatic(std::span<const ExchangeRecord> records) {
  const ExchangeRecord* worst = nullptr;
  std::string ratio;
  double largest = 0.0;
  int slower = 0, traffics = 0;
  for_each_traffic(records, [&](std::span<const ExchangeRecord> traffic) {
    ++traffics;
    const ExchangeRecord *chosen = record_on(traffic, automatic_exchange),
                         *of_library = record_on(traffic, library_exchange);
    if (!chosen || !of_library) return;
    if (chosen->time_ms.low > of_library->time_ms.high) ++slower;
    if (chosen->time_ms.median <= largest * of_library->time_ms.median) return;
    worst = chosen;
    largest = chosen->time_ms.median / of_library->time_ms.median;
    ratio = exchange_ratio_text(chosen->time_ms, of_library->time_ms);
  });
  if (!worst) return "";
  return fmt::format("# auto: at worst {} of the time of {} ({}, {}); slower, intervals apart, on {} of {} traffics\n",
                     ratio, library_exchange, plain(worst->skew), size_text(worst->bytes), slower, traffics);
}

}  // namespace

std::vector<std::string> exchange_legend() {
  return {
      "bytes: what a rank sends in all, itself included (mean over the ranks); time: maximum over the ranks",
      "algbw: most bytes that a rank sends or receives, itself included / median; busbw: algbw (P - 1) / P",
      "limit: time of a ping-pong with as much as the busiest rank (between nodes: node) sends or receives / median",
      "wrong: bytes that arrived other than they were sent"};
}

std::vector<Column> exchange_columns(std::span<const ExchangeRecord> records) {
  std::vector<Column> columns;
  for (const ExchangeColumn& each : exchange_table) {
    Column column{.header = std::string(each.header), .left_aligned = each.left_aligned};
    for (const ExchangeRecord& record : records) column.cells.push_back(each.cell(record));
    columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<Line> exchange_order(std::span<const ExchangeRecord> records) {
  std::vector<Line> lines;
  for_each_traffic(records, [&](std::span<const ExchangeRecord> traffic) {
    std::vector<std::size_t> order(traffic.size());
    std::iota(order.begin(), order.end(), static_cast<std::size_t>(traffic.data() - records.data()));
    std::ranges::stable_sort(order, {}, [&](std::size_t record) { return records[record].time_ms.median; });
    for (const std::size_t record : order) lines.push_back({record});
  });
  return lines;
}

std::string exchange_header() {
  std::string text;
  for (const std::string& line : exchange_legend()) text += "# " + line + '\n';
  return text + exchange_line([](const ExchangeColumn& column) { return column.header; });
}

std::string exchange_lines(std::span<const ExchangeRecord> records) {
  std::string text;
  for (const Line& line : exchange_order(records))
    text += exchange_line([&](const ExchangeColumn& column) { return column.cell(records[line.record]); });
  return text;
}

std::string exchange_findings(std::span<const ExchangeRecord> records) {
  std::string table;
  bool compared = false;
  for_each_traffic(records, [&](std::span<const ExchangeRecord> traffic) {
    table += violation(traffic);
    compared = compared || (record_on(traffic, library_exchange) && traffic.size() > 1);
  });
  if (!compared) return "";
  if (table.empty()) return fmt::format("# findings: nothing beats {}\n{}", library_exchange, automatic(records));
  return fmt::format(
      "# findings: faster than {}, intervals of the medians (95 %) apart: its time / theirs [least, most]\n{}{}",
      library_exchange, table, automatic(records));
}

bool are_valid(std::span<const ExchangeRecord> records) {
  return !records.empty() &&
         std::ranges::all_of(records, [](const ExchangeRecord& record) { return record.wrong == 0; });
}

std::string exchange_verdict(std::span<const ExchangeRecord> records) {
  std::int64_t wrong = 0;
  for (const ExchangeRecord& record : records) wrong += record.wrong;
  return wrong == 0 ? "RESULT: VALID" : fmt::format("RESULT: INVALID ({} wrong bytes)", wrong);
}

}  // namespace shardmark::results
