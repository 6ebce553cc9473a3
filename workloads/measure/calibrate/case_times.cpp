// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/calibrate/case_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "results/statistics.hpp"
#include "workloads/measure/memory.hpp"
#include "workloads/measure/schedule.hpp"
#include "workloads/measure/timing.hpp"

namespace shardmark {
namespace {

constexpr double bytes_of_batches = 0x1p26;  // of ids, gradients and vectors of a case, most have less

/// A case with its batches and tables, about to be timed.
struct Running {
  Running(const Communicator& comm, const CalibrationCase& of, BatchSource& source, const Status& status)
      : job(of.job(comm)), prepared(job, source, status) {
    prepared.hold(0);
    prepared.tables().fill(of.options.row_values());
  }

  Job job;
  Prepared prepared;
  Timings timings;
};

CaseTimes times_of(const Timings& timings) {
  CaseTimes times{.step = 1e-3 * summarize(timings.step_ms).median, .steps = std::ssize(timings.step_ms)};
  for (std::size_t p = 0; p < phase_names.size(); ++p)
    times.phases[p] = 1e-3 * summarize(timings.phase_path_ms[p]).median;
  return times;
}

}  // namespace

std::vector<CaseTimes> case_times(const Communicator& comm, std::span<const CalibrationCase> cases,
                                  const CasePasses& passes, const Status& status) {
  std::vector<std::unique_ptr<Running>> running(cases.size());
  for (int pass = 0; pass < passes.passes; ++pass) {
    std::size_t done = 0;
    for (const std::size_t c : order_of_turns(cases.size(), 1, pass)) {
      status(fmt::format("calibrating: pass {} of {}, step {} of {}", pass + 1, passes.passes, ++done, cases.size()));
      if (!running[c]) {
        const auto source = agree(comm, [&] { return make_batch_source(cases[c].options, [](const std::string&) {}); });
        running[c] = std::make_unique<Running>(comm, cases[c], *source, [](const std::string&) {});
      }
      visit(running[c]->job, running[c]->prepared, 0, passes.seconds, running[c]->timings);
    }
  }
  std::vector<CaseTimes> times;
  for (const auto& each : running) times.push_back(times_of(each->timings));
  return times;
}

double case_bytes(std::span<const CalibrationCase> cases) {
  double bytes = 0.0;
  for (const CalibrationCase& each : cases) {
    const auto& tables = each.options.workload.tables;
    bytes += bytes_of_batches + std::ranges::max(table_bytes(each.plan(), tables));
    for (std::size_t t = 0; t < tables.size(); ++t)
      if (each.plan().tables[t].data_parallel && each.how().movement.replicated_gradients == ReplicatedGradients::dense)
        bytes += 8.0 * static_cast<double>(tables[t].rows * (tables[t].dim + 1));
  }
  return bytes;
}

}  // namespace shardmark
