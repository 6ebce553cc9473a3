// SPDX-License-Identifier: Apache-2.0
#include "workloads/sweep/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/sweep/sizes.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view library = placement::library_exchange;

struct Rates {
  double algorithm, bus;  ///< bytes per second
};

/// Returns rates as nccl-tests counts them: what the busiest rank sends or receives, itself included, in the median
/// time.
Rates rates_of(const TrafficCase& traffic, const SweepLine& line) {
  const double ranks = traffic.traffic.ranks();
  const double algorithm = static_cast<double>(traffic.traffic.busiest()) / line.seconds.median;
  return {algorithm, algorithm * (ranks - 1) / ranks};
}

const SweepLine* line_of(const SweepResult& result, std::string_view exchange) {
  const auto line = std::ranges::find(result.lines, exchange, &SweepLine::exchange);
  return line == result.lines.end() ? nullptr : &*line;
}

std::string where(const SweepResult& result) {
  return fmt::format("{:<8} {:>8}", result.traffic.skew, size_text(result.traffic.bytes));
}

/// Returns one time / another, and the least and most that the two intervals allow.
std::string ratio_text(const results::Summary& one, const results::Summary& other) {
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", one.median / other.median, one.low / other.high, one.high / other.low);
}

std::string violation(const SweepResult& result) {
  const SweepLine* of_library = line_of(result, library);
  if (!of_library) return "";
  std::vector<const SweepLine*> faster;
  for (const SweepLine& line : result.lines)
    if (line.seconds.high < of_library->seconds.low) faster.push_back(&line);
  if (faster.empty()) return "";
  std::ranges::sort(faster, {}, [](const SweepLine* line) { return line->seconds.median; });
  std::string text = fmt::format("{}  {:<22} {:>20}", where(result), faster.front()->exchange,
                                 ratio_text(of_library->seconds, faster.front()->seconds));
  for (std::size_t i = 1; i < faster.size(); ++i)
    text += fmt::format("{}{}", i == 1 ? "  also " : ", ", faster[i]->exchange);
  return text + '\n';
}

/// Describes the traffic on which `auto` does worst beside the library, and how often that is more than chance.
std::string automatic(const std::vector<SweepResult>& results) {
  const SweepResult* worst = nullptr;
  std::string ratio;
  double largest = 0.0;
  int slower = 0;
  for (const SweepResult& result : results) {
    const SweepLine *chosen = line_of(result, "auto"), *of_library = line_of(result, library);
    if (!chosen || !of_library) continue;
    if (chosen->seconds.low > of_library->seconds.high) ++slower;
    if (chosen->seconds.median <= largest * of_library->seconds.median) continue;
    worst = &result;
    largest = chosen->seconds.median / of_library->seconds.median;
    ratio = ratio_text(chosen->seconds, of_library->seconds);
  }
  if (!worst) return "";
  return fmt::format("# auto: at worst {} of the time of {} ({}, {}); slower, intervals apart, on {} of {} traffics\n",
                     ratio, library, worst->traffic.skew, size_text(worst->traffic.bytes), slower, results.size());
}

}  // namespace

std::string sweep_header() {
  return fmt::format(
      "# bytes: what a rank sends in all, itself included (mean over the ranks); time: maximum over the ranks\n"
      "# algbw: most bytes that a rank sends or receives, itself included / median; busbw: algbw (P - 1) / P\n"
      "# limit: time of a ping-pong with as much as the busiest rank (between nodes: node) sends or receives / median\n"
      "# wrong: bytes that arrived other than they were sent\n"
      "{:<8} {:>8}  {:<22} {:>10} {:>10} {:>10} {:>10} {:>10} {:>7} {:>7}\n",
      "skew", "bytes", "exchange", "min us", "median us", "p99 us", "algbw GB/s", "busbw GB/s", "limit %", "wrong");
}

std::string sweep_lines(const SweepResult& result) {
  std::vector<const SweepLine*> lines;
  for (const SweepLine& line : result.lines) lines.push_back(&line);
  std::ranges::stable_sort(lines, {}, [](const SweepLine* line) { return line->seconds.median; });
  std::string text;
  for (const SweepLine* line : lines) {
    const Rates rates = rates_of(result.traffic, *line);
    const std::string limit = line->least ? fmt::format("{:.0f}", 100 * *line->least / line->seconds.median) : "-";
    text += fmt::format("{}  {:<22} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.3f} {:>10.3f} {:>7} {:>7}\n", where(result),
                        line->exchange, 1e6 * line->seconds.min, 1e6 * line->seconds.median, 1e6 * line->seconds.p99,
                        1e-9 * rates.algorithm, 1e-9 * rates.bus, limit, line->wrong);
  }
  return text;
}

Json to_json(const TrafficCase& traffic, const SweepLine& line) {
  const Rates rates = rates_of(traffic, line);
  Json samples = Json::array();
  for (const double seconds : line.samples) samples.push_back(1e3 * seconds);
  return {{"record", "exchange"},
          {"skew", traffic.skew},
          {"bytes", traffic.bytes},
          {"busiest_bytes", traffic.traffic.busiest()},
          {"exchange", line.exchange},
          {"ranks", traffic.traffic.ranks()},
          {"time_ms",
           {{"min", 1e3 * line.seconds.min},
            {"median", 1e3 * line.seconds.median},
            {"p99", 1e3 * line.seconds.p99},
            {"low", 1e3 * line.seconds.low},
            {"high", 1e3 * line.seconds.high},
            {"n", line.seconds.n},
            {"samples", std::move(samples)}}},
          {"algbw_bytes_per_s", rates.algorithm},
          {"busbw_bytes_per_s", rates.bus},
          {"ping_pong_ms", line.least ? Json(1e3 * *line.least) : Json(nullptr)},
          {"wrong", line.wrong}};
}

std::string findings(const std::vector<SweepResult>& results) {
  std::string table;
  for (const SweepResult& result : results) table += violation(result);
  const bool compared = std::ranges::any_of(
      results, [](const SweepResult& result) { return line_of(result, library) && result.lines.size() > 1; });
  if (!compared) return "";
  if (table.empty()) return fmt::format("# findings: nothing beats {}\n{}", library, automatic(results));
  return fmt::format(
      "# findings: faster than {}, intervals of the medians (95 %) apart: its time / theirs [least, most]\n{}{}",
      library, table, automatic(results));
}

}  // namespace shardmark::workloads
