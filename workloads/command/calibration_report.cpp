// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/calibration_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "workloads/batches/compute_threads.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t worst_cases = 5;

void print_ceilings(const Json& machine, int ranks) {
  fmt::print("# {} ranks of {} threads, all at once; min and max over the ranks\n", ranks, compute_thread_count());
  fmt::print("# tables of {} MB per rank, {:.0f} % in huge pages; arrays of {} MB\n",
             machine.at("table_bytes").get<std::int64_t>() / 1000000,
             100 * machine.at("huge_page_share").at("min").get<double>(),
             machine.at("array_bytes").get<std::int64_t>() / 1000000);
  fmt::print("{:<18} {:>4} {:>10} {:>10} {:>14}\n", "ceiling", "dim", "min GB/s", "max GB/s", "min rows/s");
  for (const Json& rate : machine.at("ceilings")) {
    const double low = rate.at("bytes_per_second").at("min");
    const double high = rate.at("bytes_per_second").at("max");
    const std::int64_t dim = rate.value("dim", 0);
    const int directions = rate.at("name") == "gather" ? 1 : 2;
    fmt::print("{:<18} {:>4} {:>10.2f} {:>10.2f} {:>14}\n", rate.at("name").get<std::string>(),
               dim > 0 ? fmt::format("{}", dim) : "-", low * 1e-9, high * 1e-9,
               dim > 0 ? fmt::format("{:.4g}", low / static_cast<double>(4 * directions * dim)) : "-");
  }
}

/// Returns microseconds, or "-" for none.
std::string microseconds(double seconds) { return seconds > 0.0 ? fmt::format("{:.2f}", 1e6 * seconds) : "-"; }

void print_messages(std::string_view name, std::string_view where, double call, double round,
                    const placement::MessageCost& cost) {
  if (cost.points.empty()) return;
  fmt::print("{:<18} {:<8} {:>8} {:>9} {:>12.2f} {:>10.2f}\n", name, where, microseconds(call), microseconds(round),
             1e6 * cost.points.front().seconds, 1e-9 * cost.bytes_per_second());
}

void print_exchanges(const placement::MachineModel& machine) {
  if (machine.exchanges.empty()) return;
  fmt::print("\n{:<18} {:<8} {:>8} {:>9} {:>12} {:>10}\n", "exchange", "nodes", "call us", "round us", "message us",
             "GB/s");
  for (const auto& [name, cost] : machine.exchanges) {
    print_messages(name, "inside", cost.call, cost.inside_round, cost.inside);
    print_messages(name, "between", cost.call, cost.between_round, cost.between);
  }
  print_messages("all-reduce", "inside", machine.all_reduce_call, 0.0, machine.all_reduce_inside);
  print_messages("all-reduce", "between", machine.all_reduce_call, 0.0, machine.all_reduce_between);
  if (machine.limit.limits())
    fmt::print("# links of a node carry {:.3g} MB/s in the long run, and {:.3g} KB at once where they have rested\n",
               1e-6 * machine.limit.bytes_per_second, 1e-3 * machine.limit.burst);
}

void print_fitted_terms(const Calibration& calibration) {
  fmt::print("\n{:<24} {:>10}  {}\n", "term", "ns", "of each");
  for (std::size_t t = 0; t < placement::terms.size(); ++t)
    fmt::print("{:<24} {:>10.3g}  {}{}\n", placement::terms[t].name, 1e9 * calibration.machine.seconds[t],
               placement::terms[t].unit, calibration.fit.measured[t] ? "" : " (not measured: as of described CPUs)");
  for (const auto& [name, weight] : calibration.machine.optimizer_weights)
    fmt::print("  a value of {:<15} weighs {:.3g}\n", name, weight);
  fmt::print("# caches hold {:.1f} MB of the rows of a rank\n", 1e-6 * calibration.machine.cache_per_rank);
}

void print_errors(std::string_view name, const FitErrors& errors) {
  fmt::print("{:<12} {:>7.1f} % {:>7.1f} %\n", name, 100 * errors.mean, 100 * errors.largest);
}

void print_fit(const Calibration& calibration) {
  const auto& [times, fit] = std::tie(calibration.times, calibration.fit);
  fmt::print("\n{:<12} {:>9} {:>9}   of {} kinds of steps, where it takes 5 % or more\n", "explained", "mean error",
             "largest", times.size());
  print_errors("step", step_errors(times, fit));
  for (std::size_t p = 0; p < phase_count; ++p)
    if (const FitErrors errors = phase_errors(times, fit, p); errors.mean > 0.0) print_errors(phase_names[p], errors);
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto error = [&](std::size_t c) { return std::abs(fit.predictions[c].seconds / times[c].step - 1.0); };
  std::ranges::sort(order, std::greater{}, error);
  fmt::print("\n{:>11} {:>12} {:>7}  worst explained\n", "measured ms", "predicted ms", "error");
  for (const std::size_t c : std::span(order).first(std::min(worst_cases, order.size())))
    fmt::print("{:>11.4g} {:>12.4g} {:>5.1f} %  {}\n", 1e3 * times[c].step, 1e3 * fit.predictions[c].seconds,
               100 * (fit.predictions[c].seconds / times[c].step - 1.0), calibration.cases[c].name);
}

}  // namespace

void print_calibration(const Calibration& calibration, const Json& json, int ranks) {
  print_ceilings(json, ranks);
  print_exchanges(calibration.machine);
  print_fitted_terms(calibration);
  print_fit(calibration);
  fmt::print("# measured in {:.0f} s on {}\n", calibration.seconds, calibration.fingerprint.words);
}

}  // namespace shardmark::workloads
