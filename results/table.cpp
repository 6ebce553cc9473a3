// SPDX-License-Identifier: Apache-2.0
#include "results/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "results/json_text.hpp"
#include "results/statistics.hpp"
#include "results/verdict.hpp"

namespace shardmark {
namespace {

using Json = nlohmann::ordered_json;
using Records = std::vector<const CaseRecord*>;

/// About four significant digits without an exponent: 0.123, 1.234, 12.34, 123.4, 12345.
std::string figure(double x) {
  const int decimals = x < 10.0 ? 3 : x < 100.0 ? 2 : x < 1000.0 ? 1 : 0;
  return fmt::format("{:.{}f}", x, decimals);
}

/// The value at a path such as "/build/version", or "unknown".
std::string text_at(const Json& json, const std::string& path) {
  const Json::json_pointer pointer(path);
  return json.contains(pointer) && !json.at(pointer).is_null() ? text_of(json.at(pointer)) : "unknown";
}

struct Column {
  std::string header;
  bool left_aligned = false;
  std::vector<std::string> cells;

  std::size_t width() const {
    std::size_t width = header.size();
    for (const std::string& cell : cells) width = std::max(width, cell.size());
    return width;
  }
  bool agrees() const { return std::ranges::adjacent_find(cells, std::ranges::not_equal_to()) == cells.end(); }
};

template <class Cell>
Column column(std::string header, const Records& records, Cell&& cell, bool left_aligned = false) {
  Column column{std::move(header), left_aligned, {}};
  for (const CaseRecord* record : records) column.cells.push_back(cell(*record));
  return column;
}

/// Options that stand above the table although they are as by default.
constexpr std::array<std::string_view, 4> always_told{"scale", "batch", "optimizer", "dtype"};

/// The options of which people want to know: those always told, those that are not as by default in some record, and
/// those in which records differ; in the order in which programs write them.
std::vector<std::string> told_options(const Records& records) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    const auto tells = [&](const CaseRecord* r) {
      return std::ranges::find(r->changed, name) != r->changed.end() || r->differs(*records.front(), name);
    };
    const bool known = name == "transfer" || name == "exchange" || std::ranges::find(names, name) != names.end();
    const bool always = std::ranges::find(always_told, name) != always_told.end();
    if (!known && (always || std::ranges::any_of(records, tells))) names.push_back(name);
  };
  for (const CaseRecord* record : records)
    for (const auto& item : record->options.items()) add(item.key());
  return names;
}

/// The fields that are the same for most runs, and so belong above the table unless they differ.
std::vector<Column> circumstances(const Records& records) {
  std::vector<Column> columns{
      column(
          "workload", records, [](const CaseRecord& r) { return r.workload; }, true),
      column("ranks", records, [](const CaseRecord& r) { return std::to_string(r.ranks); }),
      column("threads", records, [](const CaseRecord& r) { return std::to_string(r.threads); }),
  };
  for (const std::string& name : told_options(records))
    columns.push_back(column(
        name, records, [&](const CaseRecord& r) { return r.option(name); }, true));
  for (const std::string name : {"dedup_picked", "ids_per_row", "rows_per_read", "bound", "picked"}) {
    const auto cell = [&](const CaseRecord& r) { return r.details.contains(name) ? text_of(r.details.at(name)) : "-"; };
    Column details = column(name, records, cell, true);
    if (!std::ranges::all_of(details.cells, [](const std::string& text) { return text == "-"; }))
      columns.push_back(std::move(details));
  }
  return columns;
}

/// The phases that any case has: those of phase_names first, in their order.
std::vector<std::string> phases_of(const Records& records) {
  std::vector<std::string> names(phase_names.begin(), phase_names.end());
  for (const CaseRecord* record : records)
    for (const PhaseTime& phase : record->phases)
      if (std::ranges::find(names, phase.name) == names.end()) names.push_back(phase.name);
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::none_of(records, [&](const CaseRecord* record) {
      return std::ranges::find(record->phases, name, &PhaseTime::name) != record->phases.end();
    });
  });
  return names;
}

/// "input_dist" is printed "input": the columns are narrow.
Column phase_column(const std::string& name, const Records& records) {
  return column(name.substr(0, name.find("_dist")), records, [&](const CaseRecord& r) {
    const auto phase = std::ranges::find(r.phases, name, &PhaseTime::name);
    return phase == r.phases.end() ? "-" : figure(phase->median_ms);
  });
}

bool has_groups(const Records& records) {
  return std::ranges::any_of(
      records, [](const CaseRecord* r) { return r->option("groups") != "1" && r->option("groups") != "-"; });
}

Column call_column(std::string header, const Records& records, std::optional<double> CaseRecord::*ms) {
  return column(std::move(header), records,
                [&](const CaseRecord& r) { return r.*ms ? figure(*(r.*ms)) : std::string("-"); });
}

bool has_wire_errors(const Records& records) {
  return std::ranges::any_of(records,
                             [](const CaseRecord* r) { return r->wire_error && *r->wire_error != WireError{}; });
}

/// "4.9e-04 2.1e-04"
Column wire_error_column(std::string header, const Records& records, VectorError WireError::*direction) {
  return column(std::move(header), records, [&](const CaseRecord& r) -> std::string {
    if (!r.wire_error) return "-";
    const VectorError& error = (*r.wire_error).*direction;
    return error == VectorError{} ? "0" : fmt::format("{:.1e} {:.1e}", error.max, error.rms);
  });
}

std::vector<Column> measurements(const Records& records, const CaseRecord* best) {
  std::vector<Column> columns{
      column("ms", records, [](const CaseRecord& r) { return figure(r.step_ms.median); }),
      column(
          "[95 % interval]", records,
          [](const CaseRecord& r) { return fmt::format("[{}, {}]", figure(r.step_ms.low), figure(r.step_ms.high)); }),
      column("samples/s", records, [](const CaseRecord& r) { return figure(r.samples_per_s); }),
  };
  for (const std::string& phase : phases_of(records)) columns.push_back(phase_column(phase, records));
  columns.push_back(column("imbal", records, [](const CaseRecord& r) { return fmt::format("{:.2f}", r.imbalance); }));
  columns.push_back(
      column("MB", records, [](const CaseRecord& r) { return figure(static_cast<double>(r.sent_bytes_max) * 1e-6); }));
  if (has_groups(records)) {
    columns.push_back(call_column("comm", records, &CaseRecord::communication_ms));
    columns.push_back(call_column("exposed", records, &CaseRecord::exposed_ms));
  }
  if (has_wire_errors(records)) {
    columns.push_back(wire_error_column("fwd err max rms", records, &WireError::forward));
    columns.push_back(wire_error_column("bwd err max rms", records, &WireError::backward));
  }
  columns.push_back(column("vs best", records, [&](const CaseRecord& r) {
    return best ? fmt::format("{:.2f}", best->samples_per_s / r.samples_per_s) : "-";
  }));
  if (std::ranges::any_of(records, [](const CaseRecord* r) { return r->predicted_ms.has_value(); }))
    columns.push_back(
        column("pred ms", records, [](const CaseRecord& r) { return r.predicted_ms ? figure(*r.predicted_ms) : "-"; }));
  columns.push_back(column("wrong", records, [](const CaseRecord& r) {
    return r.wrong == 0 && r.checked_steps == 0 ? "unchecked" : std::to_string(r.wrong);
  }));
  return columns;
}

std::string row(const std::vector<Column>& columns, std::string_view start, std::size_t index, bool header) {
  std::string line(start);
  for (const Column& column : columns) {
    const std::string& text = header ? column.header : column.cells[index];
    line += column.left_aligned ? fmt::format(" {:<{}} ", text, column.width())
                                : fmt::format(" {:>{}}", text, column.width());
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
}

std::string host_list(const Json& environment) {
  std::vector<std::string> hosts;
  if (const Json::json_pointer ranks("/ranks"); environment.contains(ranks)) {
    for (const Json& rank : environment.at(ranks)) {
      const std::string host = text_at(rank, "/host");
      if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
    }
  }
  if (hosts.empty()) return "unknown";
  constexpr std::size_t shown = 8;
  const std::size_t count = hosts.size();
  hosts.resize(std::min(count, shown));
  return fmt::format("{} ({}{})", count, fmt::join(hosts, ", "), count > shown ? ", ..." : "");
}

std::string memory_of(const Json& environment) {
  const Json::json_pointer memory("/machine/memory_bytes");
  if (!environment.contains(memory) || !environment.at(memory).is_number()) return "unknown";
  return fmt::format("{:.1f} GiB", environment.at(memory).get<double>() * 0x1p-30);
}

std::string where(const Json& environment) {
  const bool dirty = text_at(environment, "/build/dirty") == "true";
  std::string command;
  if (environment.contains("arguments"))
    for (const Json& argument : environment.at("arguments")) command += ' ' + text_of(argument);
  return fmt::format("# shardmark {}, commit {}{}, {} build by {}, {}, seed {}\n",
                     text_at(environment, "/build/version"), text_at(environment, "/build/git_hash").substr(0, 12),
                     dirty ? " with changes" : "", text_at(environment, "/build/type"),
                     text_at(environment, "/build/compiler"), text_at(environment, "/time"),
                     text_at(environment, "/seed")) +
         fmt::format("# command{}\n", command) +
         fmt::format("# hosts {}, machine {}, {} cores, {} logical, {}, Linux {}\n", host_list(environment),
                     text_at(environment, "/machine/cpu"), text_at(environment, "/machine/cores"),
                     text_at(environment, "/machine/logical_cpus"), memory_of(environment),
                     text_at(environment, "/machine/kernel"));
}

std::string legend(const Records& records) {
  const auto by_samples = [](const CaseRecord* r) { return r->step_ms.n; };
  const std::int64_t fewest = by_samples(*std::ranges::min_element(records, {}, by_samples));
  const std::int64_t most = by_samples(*std::ranges::max_element(records, {}, by_samples));
  std::string text = fmt::format(
      "# ms: median of {} steps, each the maximum over ranks, and its interval; phases: their median ms\n"
      "# imbal: maximum / mean over ranks of lookup; MB: sent by the busiest rank per step; "
      "vs best: time per sample / that of the fastest valid case\n",
      fewest == most ? std::to_string(most) : fmt::format("{} to {}", fewest, most));
  if (has_groups(records))
    text +=
        "# comm: ms in collective calls, on another thread where there are groups; exposed: of them with nothing else "
        "to do\n";
  if (has_wire_errors(records))
    text += "# err: of the vectors on the wire against fp32: largest of a vector / its largest value, and rms / rms\n";
  if (fewest < samples_for_interval)
    text += fmt::format("# fewer than {} steps: the interval is minimum to maximum, and covers less than 95 %\n",
                        samples_for_interval);
  return text;
}

/// Valid before unchecked before wrong, then the higher rate first.
Records ranked(std::span<const CaseRecord> records) {
  Records order;
  for (const CaseRecord& record : records) order.push_back(&record);
  std::ranges::stable_sort(order, {}, [](const CaseRecord* r) {
    return std::pair(is_valid(*r) ? 0 : r->wrong == 0 ? 1 : 2, -r->samples_per_s);
  });
  return order;
}

std::string table(const Records& records, const CaseRecord* best) {
  std::string echo = "#";
  std::vector<Column> columns{
      column(
          "plan", records, [](const CaseRecord& r) { return r.plan; }, true),
      column(
          "transfer", records, [](const CaseRecord& r) { return r.option("transfer"); }, true),
      column(
          "exchange", records, [](const CaseRecord& r) { return r.option("exchange"); }, true),
  };
  for (Column& field : circumstances(records)) {
    if (field.agrees())
      echo += fmt::format("{} {} {}", echo.size() > 1 ? "," : "", field.header, field.cells.front());
    else
      columns.push_back(std::move(field));
  }
  std::ranges::move(measurements(records, best), std::back_inserter(columns));
  std::string text = echo + '\n' + legend(records) + row(columns, "#", 0, true);
  for (std::size_t i = 0; i < records.size(); ++i) text += row(columns, " ", i, false);
  return text;
}

/// The line that puts the environment's published ratio beside ours, if there are both.
std::string published_ratio(const Json& environment, std::span<const CaseRecord> records) {
  const Json published = environment.value("published", Json());
  const auto text_of = [&](const char* key) { return published.at(key).get<std::string>(); };
  try {
    if (published.is_null()) return "";
    const auto line = beside_published(records, text_of("fast"), text_of("slow"), published.at("ratio").get<double>(),
                                       text_of("source"));
    return line ? *line + '\n' : "";
  } catch (const Json::exception&) {
    return "# the published ratio in the environment record cannot be read\n";
  }
}

}  // namespace

std::string results_table(const Json& environment, std::span<const CaseRecord> records) {
  const CaseRecord* best = best_valid_case(records);
  std::string text = where(environment);
  if (!records.empty()) text += table(ranked(records), best);
  text += published_ratio(environment, records);
  text += best ? fmt::format("FOM samples/s: {:.6g}\n", best->samples_per_s) : "FOM samples/s: none\n";
  return text + verdict_of(records).line() + '\n';
}

}  // namespace shardmark
