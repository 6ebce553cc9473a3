// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "workloads/measure/case_record.hpp"
#include "workloads/measure/check.hpp"
#include "workloads/measure/schedule.hpp"

namespace shardmark {
namespace {

/// What the wire did to the vectors of all ranks.
VectorError wire_error(const Communicator& comm, const kernels::VectorErrors& own) {
  const double squares = all_reduce(comm, own.squares, Reduce::sum);
  const double error_squares = all_reduce(comm, own.error_squares, Reduce::sum);
  return {.max = all_reduce(comm, own.largest, Reduce::max),
          .rms = squares > 0.0 ? std::sqrt(error_squares / squares) : 0.0};
}

Verdict check(const Job& job, Prepared& prepared, std::size_t number, const Expectation& expectation) {
  prepared.hold(job.cases[number].plan);
  ReadyCase& ready = prepared.ready(number);
  Wire& wire = ready.embedding.wire();
  wire.watch(true);
  Verdict verdict;
  verdict.wrong = count_wrong(job.comm, expectation, job.options.row_values(), ready.flight, prepared.inputs());
  wire.watch(false);
  verdict.wire_error = WireError{wire_error(job.comm, wire.error(Direction::forward)),
                                 wire_error(job.comm, wire.error(Direction::backward))};
  return verdict;
}

/// The reference runs once for each pair of wire types: its bounds depend on them.
std::vector<Verdict> check_all(const Job& job, Prepared& prepared, BatchSource& batches, const Status& status) {
  std::vector<Verdict> verdicts(job.cases.size());
  if (job.options.checked_steps == 0) return verdicts;
  std::vector<WireTypes> wires;
  for (const PlannedCase& each : job.cases)
    if (std::ranges::find(wires, each.how.movement.wire) == wires.end()) wires.push_back(each.how.movement.wire);
  for (const WireTypes wire : wires) {
    status("computing the reference");
    const Expectation expectation = agree(job.comm, [&] { return Expectation(job.comm, job.options, batches, wire); });
    for (std::size_t plan = 0; plan < job.plans.size(); ++plan)
      for (const std::size_t c : job.cases_of(plan)) {
        if (job.cases[c].how.movement.wire != wire) continue;
        status(fmt::format("checking {}", job.name_of(c)));
        verdicts[c] = check(job, prepared, c, expectation);
      }
  }
  return verdicts;
}

/// Ends, agreed by all ranks, when is_done says so.
std::vector<Timings> time_all(const Job& job, Prepared& prepared, const Status& status) {
  std::vector<Timings> timings(job.cases.size());
  std::vector<std::int64_t> visit_steps(job.cases.size(), 0);
  std::vector<const std::vector<double>*> step_ms;
  for (const Timings& each : timings) step_ms.push_back(&each.step_ms);
  const std::uint64_t seed = job.options.seed;
  const double begin = MPI_Wtime();
  for (std::int64_t round = 0;; ++round) {
    for (const std::size_t plan : order_of_turns(job.plans.size(), seed, round)) {
      if (prepared.hold(plan)) prepared.tables().fill(job.options.row_values());
      const auto cases = job.cases_of(plan);
      for (const std::size_t turn : order_of_turns(cases.size(), seed, round, 1))
        visit(job, prepared, cases[turn], visit_steps[cases[turn]], timings[cases[turn]]);
    }
    const double spent = all_reduce(job.comm, MPI_Wtime() - begin, Reduce::max);
    status(fmt::format("timed {} round{} of {} cases, {:.0f} s", round + 1, round ? "s" : "", timings.size(), spent));
    if (is_done(job.options, round + 1, spent, step_ms)) return timings;
  }
}

}  // namespace

std::vector<CaseRecord> measure(const Job& job, BatchSource& batches, const Status& status) {
  Prepared prepared(job, batches, status);
  const std::vector<Verdict> verdicts = check_all(job, prepared, batches, status);
  const std::vector<Timings> timings = time_all(job, prepared, status);
  std::vector<CaseRecord> records;
  for (std::size_t c = 0; c < job.cases.size(); ++c) records.push_back(case_record(job, c, timings[c], verdicts[c]));
  return records;
}

}  // namespace shardmark
