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

namespace shardmark::workloads {
namespace {

constexpr double bytes_of_batches = 0x1p25;  // of ids, gradients and vectors of a case; most have less

const Status silent = [](const std::string&) {};

/// A case with its batches and tables, about to be timed.
class RunningCase {
 public:
  RunningCase(const comm::Communicator& comm, const CalibrationCase& of)
      : job_(of.job(comm)),
        source_(comm::agree(comm, [&] { return make_batch_source(of.options, silent); })),
        prepared_(job_, *source_, silent) {
    prepared_.hold(0);
    prepared_.tables().fill(of.options.row_values());
  }

  void visit(double seconds) { workloads::visit(job_, prepared_, 0, seconds, timings_); }

  /// Medians over the steps of all visits.
  CaseTimes times() const {
    const auto median = [](std::span<const double> ms) { return 1e-3 * results::summarize(ms).median; };
    CaseTimes times{.step = median(timings_.step_ms), .steps = std::ssize(timings_.step_ms)};
    for (std::size_t p = 0; p < results::phase_names.size(); ++p) times.phases[p] = median(timings_.phase_path_ms[p]);
    return times;
  }

 private:
  Job job_;
  std::unique_ptr<BatchSource> source_;
  Prepared prepared_;
  Timings timings_;
};

}  // namespace

std::vector<CaseTimes> case_times(const comm::Communicator& comm, std::span<const CalibrationCase> cases,
                                  const CasePasses& passes, const Status& status) {
  std::vector<std::unique_ptr<RunningCase>> running(cases.size());
  const double begin = MPI_Wtime();
  const auto spent = [&] { return comm::all_reduce(comm, MPI_Wtime() - begin, comm::Reduce::max); };
  double before = 0.0;  // spent when the latest pass began
  for (int pass = 0; pass < passes.passes; ++pass) {
    const double now = pass > 0 ? spent() : 0.0;
    if (pass > 0 && now + (now - before) > passes.all_seconds) break;
    const double longest = pass > 0 ? (now - before) * (passes.passes - pass) : passes.all_seconds;
    before = now;
    std::size_t done = 0;
    for (const std::size_t c : order_of_turns(cases.size(), 1, pass)) {
      const double left = std::max(1.0, std::min(passes.all_seconds, now + longest) - (MPI_Wtime() - begin));
      status(fmt::format("calibrating: pass {} of {}, step {} of {}, at most {:.0f} s left", pass + 1, passes.passes,
                         ++done, cases.size(), left));
      if (!running[c]) running[c] = std::make_unique<RunningCase>(comm, cases[c]);
      running[c]->visit(passes.seconds);
    }
  }
  std::vector<CaseTimes> times;
  for (const auto& each : running) times.push_back(each->times());
  return times;
}

double case_bytes(const CalibrationCase& of) {
  const auto& tables = of.options.workload.tables;
  double bytes = bytes_of_batches + std::ranges::max(table_bytes(of.plan(), tables));
  for (std::size_t t = 0; t < tables.size(); ++t)
    if (of.plan().tables[t].data_parallel &&
        of.how().movement.replicated_gradients == placement::ReplicatedGradients::dense)
      bytes += 8.0 * static_cast<double>(tables[t].rows * (tables[t].dim + 1));
  return bytes;
}

}  // namespace shardmark::workloads
