// SPDX-License-Identifier: Apache-2.0
#include "results/table/register_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "results/json_text.hpp"
#include "results/prediction_quality.hpp"
#include "results/table/layout.hpp"

namespace shardmark::results {
namespace {

/// Gathers the lines of the page.
class RegisterTable {
 public:
  void add(const RegisteredStep& step, const std::string& file, const CaseRecord* record, Standing standing) {
    ++counts_[index_of(standing)];
    const std::string error =
        record == nullptr ? "-"
                          : fmt::format("{:+.1f}", 100.0 * PredictedTime{step.step_ms, record->step_ms.median}.error());
    const std::array cells{
        step.plan,
        fmt::format("{}", step.ranks),
        text_of(step.options.value("batch", nlohmann::ordered_json("-"))),
        figure(step.step_ms),
        record == nullptr ? "-" : figure(record->step_ms.median),
        record == nullptr ? "-" : fmt::format("[{}, {}]", figure(record->step_ms.low), figure(record->step_ms.high)),
        error,
        std::string(standings[index_of(standing)].name),
        file};
    for (std::size_t c = 0; c < columns_.size(); ++c) columns_[c].cells.push_back(plain(cells[c]));
    lines_.push_back({lines_.size()});
    if (standing == Standing::registered || standing == Standing::refuted)
      counted_.push_back({step.step_ms, record->step_ms.median});
  }

  std::string text() const { return text_lines(columns_, lines_); }

  /// Returns how many predictions are called what, and how far those that count are off.
  std::string summary() const {
    std::vector<std::string> parts;
    for (const auto& standing : standings)
      if (const std::int64_t count = counts_[index_of(standing.value)]; count > 0)
        parts.push_back(fmt::format("{} {}", count, standing.name));
    std::string text = fmt::format("# {}", fmt::join(parts, ", "));
    if (counted_.empty()) return text + "\n";
    const PredictionQuality quality = prediction_quality(counted_);
    text += fmt::format("; those that count are {:.1f} % off on average (MAPE)", 100.0 * quality.mean_error);
    if (quality.rank_correlation)
      text += fmt::format(", rank correlation {:.2f} (Spearman)", *quality.rank_correlation);
    return text + "\n";
  }

 private:
  std::vector<Column> columns_{{.header = "plan", .left_aligned = true},
                               {.header = "ranks"},
                               {.header = "batch"},
                               {.header = "predicted ms"},
                               {.header = "measured ms"},
                               {.header = "[95 %]"},
                               {.header = "error %"},
                               {.header = "", .left_aligned = true},
                               {.header = "file", .left_aligned = true}};
  std::vector<Line> lines_;
  std::vector<PredictedTime> counted_;
  std::array<std::int64_t, standings.size()> counts_{};
};

std::string heading(const Registered& registered, const std::string& file) {
  using Json = nlohmann::ordered_json;
  const Json hash = registered.build.is_object() ? registered.build.value("git_hash", Json()) : Json();
  const std::string commit = hash.is_string() ? hash.get<std::string>().substr(0, 12) : "?";
  return fmt::format("# {}: {} on machine {} ({}; hash {}), registered {} by commit {}; stated error {:g} %\n",
                     plain(file), plain(registered.workload), plain(registered.machine.name),
                     plain(registered.machine.source), plain(registered.machine.hash), registered.time, plain(commit),
                     100.0 * registered.within);
}

}  // namespace

RegisterPage register_page(const Registered& registered, const std::string& file,
                           std::span<const MeasuredFile> measured) {
  std::vector<std::string> since;
  for (const MeasuredFile& each : measured) since.push_back(measured_since(each.results, each.file));
  RegisterTable table;
  RegisterPage page;
  std::string remarks;
  for (const RegisteredStep& step : registered.steps) {
    bool found = false;
    std::string others;
    for (std::size_t m = 0; m < measured.size(); ++m)
      for (const CaseRecord& record : measured[m].results.cases) {
        const auto differing = differences(registered, step, record);
        if (!differing) continue;
        if (differing->empty())
          table.add(step, measured[m].file, &record, standing_of(registered, step, record, since[m]));
        else
          others += plain(fmt::format("# {} on {} ranks: {} has it with {}", step.plan, step.ranks, measured[m].file,
                                      fmt::join(*differing, "; "))) +
                    "\n";
        found = found || differing->empty();
      }
    page.matched += found ? 1 : 0;
    if (found) continue;
    table.add(step, "", nullptr, Standing::not_measured);
    remarks += others;
  }
  page.text = heading(registered, file) + table.text() + remarks + table.summary();
  return page;
}

}  // namespace shardmark::results
