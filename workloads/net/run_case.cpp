// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/run_case.hpp"

#include <fmt/format.h>

#include "comm/agree.hpp"
#include "kernels/guard_bands.hpp"
#include "workloads/measure/check.hpp"
#include "workloads/net/case_setup.hpp"

namespace shardmark {
namespace {

void quiet(const std::string&) {}

/// As a measurement checks a case before it times it.
std::int64_t wrong_values(const Communicator& comm, const CaseSetup& setup, BatchSource& batches) {
  const Job job{comm, setup.asked, setup.plans, setup.cases};
  const RunOptions& options = setup.planned().options;
  Prepared prepared(job, batches, quiet);
  Expectation expectation = agree(comm, [&] {
    return Expectation(comm, options, batches, setup.how().movement.wire, options.checked_steps, setup.how().async);
  });
  prepared.hold(0);
  ReadyCase& ready = prepared.ready(0);
  const RowValues initial = options.row_values();
  return ready.pipeline ? count_wrong(comm, expectation, initial, *ready.pipeline, ready.dense, prepared.step_batches())
                        : count_wrong(comm, expectation, initial, ready.flight, ready.dense, prepared.inputs());
}

NetOutcome run_once(const Communicator& comm, const NetCase& one, const PoolFacts& facts) {
  NetOutcome outcome;
  const CaseSetup setup = agree(comm, [&] { return set_up(one, facts); });
  const auto batches = agree(comm, [&] { return make_batch_source(setup.asked, quiet); });
  if (const std::int64_t wrong = wrong_values(comm, setup, *batches); wrong > 0)
    outcome.failed = fmt::format("{} wrong values", wrong);
  return outcome;
}

}  // namespace

NetOutcome run_case(const Communicator& comm, const NetCase& one, const PoolFacts& facts) {
  NetOutcome outcome;
  try {
    outcome = run_once(comm, one, facts);
  } catch (const InputError& error) {
    outcome.refused = error.what();
  } catch (const CollectiveError& error) {
    outcome.failed = error.what();
  }
  try {
    agree(comm, kernels::check_guard_bands);
  } catch (const CollectiveError& error) {
    outcome.failed += (outcome.failed.empty() ? "" : "; ") + std::string(error.what());
  }
  return outcome;
}

}  // namespace shardmark
