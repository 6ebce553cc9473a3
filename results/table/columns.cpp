// SPDX-License-Identifier: Apache-2.0
#include "results/table/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "results/json_text.hpp"
#include "results/statistics.hpp"
#include "results/table/predictions.hpp"
#include "results/table/tensor_trains.hpp"
#include "results/verdict.hpp"

namespace shardmark::results {
namespace {

bool agrees(const Column& column) {
  return std::ranges::adjacent_find(column.cells, std::ranges::not_equal_to()) == column.cells.end();
}

bool says_nothing(const Column& column) {
  return std::ranges::all_of(column.cells, [](const std::string& text) { return text.empty() || text == "-"; });
}

/// Leaves the value of an option that only some of the cases have, as those of tensor trains, where these agree.
void settle(Column& column) {
  const auto first_value = std::ranges::find_if(column.cells, [](const std::string& text) { return text != "-"; });
  if (first_value == column.cells.end()) return;
  const std::string value = *first_value;
  const auto agrees = [&](const std::string& text) { return text == "-" || text == value; };
  if (std::ranges::all_of(column.cells, agrees)) std::ranges::fill(column.cells, value);
}

template <class Cell>
Column with_cells(Column column, const Records& records, Cell&& cell) {
  for (const CaseRecord* record : records) column.cells.push_back(cell(*record));
  return column;
}

/// Makes a column of what `number` says of each record, a number or none.
template <class Number>
Column with_figures(Column column, const Records& records, const Number& number) {
  std::vector<std::optional<double>> numbers;
  for (const CaseRecord* record : records) numbers.push_back(number(*record));
  column.cells = figures(numbers);
  return column;
}

/// These options stand above the table even where they are at their defaults.
constexpr std::array<std::string_view, 4> always_printed{"scale", "batch", "optimizer", "dtype"};

/// Returns the options to print: transfer and exchange, those always printed, those that are not at their defaults in
/// some record, and those in which records differ; in the order in which programs write them.
std::vector<std::string> printed_options(const Records& records) {
  std::vector<std::string> names{"transfer", "exchange"};
  const auto add = [&](const std::string& name) {
    const auto tells = [&](const CaseRecord* r) {
      return std::ranges::find(r->changed, name) != r->changed.end() || r->differs(*records.front(), name);
    };
    const bool always = std::ranges::find(always_printed, name) != always_printed.end();
    if (std::ranges::find(names, name) == names.end() && (always || std::ranges::any_of(records, tells)))
      names.push_back(name);
  };
  for (const CaseRecord* record : records)
    for (const auto& item : record->options.items()) add(item.key());
  return names;
}

/// Merges two columns with the same cells.
void merge(std::vector<Column>& columns, std::string_view one, std::string_view other, std::string_view merged) {
  const auto first = std::ranges::find(columns, one, &Column::header);
  const auto second = std::ranges::find(columns, other, &Column::header);
  if (first == columns.end() || second == columns.end() || first->cells != second->cells) return;
  first->header = merged;
  columns.erase(second);
}

/// What the cases are.
std::vector<Column> choices(const Records& records) {
  std::vector<std::string> fields{"plan", "workload", "ranks", "threads"}, options = printed_options(records);
  if (std::erase(options, "storage") > 0) fields.insert(fields.begin() + 1, "storage");
  std::ranges::copy(options, std::back_inserter(fields));
  std::vector<Column> columns;
  for (const std::string& field : fields)
    columns.push_back(with_cells({.header = field, .left_aligned = field != "ranks" && field != "threads"}, records,
                                 [&](const CaseRecord& r) { return value_of(r, field); }));
  merge(columns, "wire_forward", "wire_backward", "wire");
  return columns;
}

Column detail(const std::string& name, Importance importance, const Records& records) {
  return with_cells(
      {.header = name, .importance = importance, .left_aligned = true}, records,
      [&](const CaseRecord& r) { return r.details.contains(name) ? plain(text_of(r.details.at(name))) : "-"; });
}

/// The phases that any case has: those of phase_names first, in their order.
std::vector<std::string> phases_of(const Records& records) {
  std::vector<std::string> names(phase_names.begin(), phase_names.end());
  for (const CaseRecord* record : records)
    for (const PhaseTime& phase : record->phases)
      if (std::ranges::find(names, phase.name) == names.end()) names.push_back(phase.name);
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::none_of(records, [&](const CaseRecord* record) { return phase_ms(*record, name).has_value(); });
  });
  return names;
}

/// "input_dist" is printed "input": the columns are narrow.
Column phase_column(const std::string& name, const Records& records) {
  const bool exchanges = name.ends_with("_dist");
  const bool tiny = std::ranges::all_of(
      records, [&](const CaseRecord* r) { return phase_ms(*r, name).value_or(0.0) < 0.01 * r->step_ms.median; });
  const Importance importance = exchanges ? Importance::exchange_phases : tiny ? Importance::remark : Importance::phase;
  return with_figures({.header = name.substr(0, name.find("_dist")), .importance = importance, .unit = " ms"}, records,
                      [&](const CaseRecord& r) { return phase_ms(r, name); });
}

void add_phases(std::vector<Column>& columns, const Records& records) {
  for (const std::string& phase : phases_of(records)) columns.push_back(phase_column(phase, records));
  const bool alone = std::ranges::all_of(records, [](const CaseRecord* r) { return r->ranks == 1; });
  columns.push_back(with_figures({.header = alone ? "pack" : "exch",
                                  .importance = Importance::exchange_sum,
                                  .legend = alone ? "pack: ms of input, output and grad, packing and unpacking"
                                                  : "exch: ms of input, output and grad, the exchanges"},
                                 records, exchange_ms));
}

Column call_column(std::string header, std::string legend, const Records& records,
                   std::optional<double> CaseRecord::*ms) {
  return with_figures({.header = std::move(header), .importance = Importance::overlap, .legend = std::move(legend)},
                      records, [&](const CaseRecord& r) { return r.*ms; });
}

/// Groups of tables take turns, or gradients of layers travel while others are computed.
bool overlaps(const Records& records) {
  return std::ranges::any_of(records, [](const CaseRecord* r) {
    return (r->option("groups") != "1" && r->option("groups") != "-") || r->options.contains("dense_optimizer");
  });
}

bool has_wire_errors(const Records& records) {
  return std::ranges::any_of(records,
                             [](const CaseRecord* r) { return r->wire_error && *r->wire_error != WireError{}; });
}

/// "4.9e-04": the largest error; CSV has the mean square too.
Column wire_error_column(std::string header, const Records& records, VectorError WireError::*direction) {
  return with_cells(
      {.header = std::move(header),
       .importance = Importance::error,
       .legend = "err: of the vectors on the wire against fp32, the largest of a vector / its largest value"},
      records, [&](const CaseRecord& r) -> std::string {
        if (!r.wire_error) return "-";
        const double error = ((*r.wire_error).*direction).max;
        return error == 0.0 ? "0" : fmt::format("{:.1e}", error);
      });
}

void add_times(std::vector<Column>& columns, const Records& records) {
  std::vector<std::optional<double>> medians;
  for (const CaseRecord* record : records) medians.push_back(record->step_ms.median);
  const int decimals = decimals_of(medians);
  columns.push_back(with_figures({.header = "ms"}, records, [](const CaseRecord& r) { return r.step_ms.median; }));
  columns.push_back(
      with_cells({.header = "[95 %]", .importance = Importance::interval}, records, [decimals](const CaseRecord& r) {
        return fmt::format("[{:.{}f}, {:.{}f}]", r.step_ms.low, decimals, r.step_ms.high, decimals);
      }));
  columns.push_back(with_cells({.header = "samples/s", .importance = Importance::rate}, records,
                               [](const CaseRecord& r) { return with_commas(r.samples_per_s); }));
}

void add_transport(std::vector<Column>& columns, const Records& records) {
  columns.push_back(with_cells(
      {.header = "imbal", .importance = Importance::balance, .legend = "imbal: maximum / mean over ranks of lookup"},
      records, [](const CaseRecord& r) { return fmt::format("{:.2f}", r.imbalance); }));
  columns.push_back(with_figures(
      {.header = "MB", .importance = Importance::traffic, .legend = "MB: sent by the busiest rank per step"}, records,
      [](const CaseRecord& r) { return static_cast<double>(r.sent_bytes_max) * 1e-6; }));
  if (overlaps(records)) {
    columns.push_back(call_column("comm", "comm: ms in collective calls, on another thread where there are groups",
                                  records, &CaseRecord::communication_ms));
    columns.push_back(
        call_column("exposed", "exposed: of them with nothing else to do", records, &CaseRecord::exposed_ms));
  }
  if (has_wire_errors(records)) {
    columns.push_back(wire_error_column("fwd err", records, &WireError::forward));
    columns.push_back(wire_error_column("bwd err", records, &WireError::backward));
  }
}

void add_verdict(std::vector<Column>& columns, const Records& records, const CaseRecord* best) {
  const auto valid = std::ranges::count_if(records, [](const CaseRecord* r) { return is_valid(*r); });
  columns.push_back(with_cells({.header = "vs best",
                                .importance = Importance::ratio,
                                .legend = "vs best: time per sample / that of the fastest valid case in the same "
                                          "rounds, and the 95 % interval of this ratio"},
                               records, [&](const CaseRecord& r) -> std::string {
                                 if (!best || records.size() < 2) return "-";
                                 return &r == best ? "1" : ratio_text(time_ratio(r, *best, pairs_of(valid)));
                               }));
  columns.push_back(
      with_cells({.header = "wrong", .importance = Importance::verdict}, records, [](const CaseRecord& r) {
        return r.wrong == 0 && r.checked_steps == 0 ? "unchecked" : std::to_string(r.wrong);
      }));
  columns.push_back(
      with_cells({.header = "",
                  .importance = Importance::verdict,
                  .left_aligned = true,
                  .legend = "*: stopped early, as it is certainly slower than the best, or for the budget"},
                 records, [](const CaseRecord& r) { return r.details.contains("stopped") ? "*" : ""; }));
}

/// Returns whether the tables of any record are stored otherwise than those of others, or than the workload says.
bool has_storages(const Records& records) {
  return std::ranges::any_of(records, [&](const CaseRecord* r) {
    return std::ranges::find(r->changed, "storage") != r->changed.end() || r->differs(*records.front(), "storage");
  });
}

Column memory_column(const Records& records) {
  return with_figures({.header = "table MB",
                       .importance = Importance::memory,
                       .legend = "table MB: rows and state of the rank that holds most"},
                      records, [](const CaseRecord& r) -> std::optional<double> {
                        const auto bytes = r.details.find("table_bytes_max");
                        if (bytes == r.details.end() || !bytes->is_number()) return std::nullopt;
                        return bytes->get<double>() * 1e-6;
                      });
}

/// Makes a column of a dense model: loss or AUC.
Column training_column(const std::string& name, const Records& records) {
  return with_cells({.header = name, .importance = Importance::error}, records, [&](const CaseRecord& r) {
    const auto found = r.details.find(name);
    return found != r.details.end() && found->is_number() ? fmt::format("{:.4f}", found->get<double>()) : "-";
  });
}

std::vector<Column> measurements(const Records& records, const CaseRecord* best) {
  std::vector<Column> columns;
  add_times(columns, records);
  std::ranges::move(prediction_columns(records), std::back_inserter(columns));
  std::ranges::move(limit_columns(records), std::back_inserter(columns));
  add_phases(columns, records);
  add_transport(columns, records);
  if (has_tensor_trains(records) || has_storages(records)) columns.push_back(memory_column(records));
  for (const char* quality : {"loss", "auc"}) columns.push_back(training_column(quality, records));
  for (const char* saving : {"ids_per_row", "rows_per_read"})
    columns.push_back(detail(saving, Importance::saving, records));
  for (const char* remark : {"dedup_picked", "picked", "bound"})
    columns.push_back(detail(remark, Importance::remark, records));
  add_verdict(columns, records, best);
  std::erase_if(columns, says_nothing);
  return columns;
}

}  // namespace

Sheet sheet_of(const Records& records, const CaseRecord* best) {
  Sheet sheet;
  const auto place = [&](Column& column, bool stays) {
    if (stays || !agrees(column))
      sheet.columns.push_back(std::move(column));
    else if (column.importance != Importance::exchange_sum)
      sheet.constants.push_back(fmt::format("{} {}{}", column.header, column.cells.front(), column.unit));
  };
  const bool alone = records.size() == 1;
  for (Column& column : choices(records)) {
    settle(column);
    place(column, alone && column.header == "plan");
  }
  for (Column& column : measurements(records, best)) place(column, alone || column.header == "ms");
  return sheet;
}

}  // namespace shardmark::results
