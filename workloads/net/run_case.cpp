// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/run_case.hpp"

#include <fmt/format.h>

#include <exception>
#include <numeric>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/waiting.hpp"
#include "kernels/guard_bands.hpp"
#include "reference/storage.hpp"
#include "workloads/measure/check.hpp"
#include "workloads/measure/export.hpp"
#include "workloads/measure/measure.hpp"
#include "workloads/net/net_setup.hpp"
#include "workloads/net/saved_steps.hpp"
#include "workloads/net/step_checks.hpp"

namespace shardmark::workloads {
namespace {

void quiet(const std::string&) {}

/// The slow count of the bytes of a batch is made up to so many ids.
constexpr std::int64_t most_counted_ids = 20'000;

/// Some oracles are asked in a share of the cases, by the seed, which stays while a case is made smaller.
bool is_measured(const NetCase& one) { return one.seed % 8 == 0; }
bool checks_memory(const NetCase& one) { return one.seed % 16 == 1; }
bool is_restored(const NetCase& one, const std::vector<Table>& tables) {
  const bool keyed = std::ranges::any_of(tables, [](const Table& table) { return storage_of(table).comes_and_goes; });
  return one.seed % (keyed ? 3 : 24) == 1;
}
/// Some cases run as those of users whose ranks share cores: waiting ranks sleep, which takes other calls of MPI; and
/// no bands hold arrays apart, so that arrays of nothing may have one address. Whatever the other oracles are.
bool shares_cores(const NetCase& one) { return one.seed / 16 % 4 == 2; }

/// Returns whether the sums of a step have no rounding anywhere, so that no output and no row may differ by a bit.
bool is_bit_exact(const RunOptions& options, const Case& config) {
  const Workload& workload = options.workload;
  const auto adds = [](const Feature& f) { return f.pooling == Pooling::sum || f.pooling == Pooling::none; };
  const auto steps_exactly = [](const Table& t) {
    const bool adds_gradient = t.optimizer.kind == OptimizerKind::sgd && t.optimizer.weight_decay == 0.0F;
    return !storage_of(t).computes() && t.value_type == ValueType::fp32 &&
           (adds_gradient || t.optimizer.kind == OptimizerKind::none);
  };
  return options.exact && config.movement.wire == WireTypes{} && !has_layers(options.dense.kind) &&
         std::ranges::all_of(workload.features, adds) && std::ranges::all_of(workload.tables, steps_exactly);
}

/// Returns whether some outputs have a bound that is not 0: then another plan could give other bits and no check would
/// find it.
bool has_loose_output(const Expectation& expectation, std::int64_t features) {
  for (std::int64_t step = 0; step < expectation.steps(); ++step)
    for (std::int64_t f = 0; f < features; ++f) {
      const ExpectedOutputs& output = expectation.output(step, f);
      for (std::int64_t bag = 0; bag < output.bags(); ++bag)
        if (std::ranges::any_of(output.bounds(bag), [](float bound) { return bound != 0.0F; })) return true;
    }
  return false;
}

/// Collects what the steps of a case showed on this rank and all others.
class CheckedCase {
 public:
  CheckedCase(const comm::Communicator& comm, const CaseSetup& setup, BatchSource& batches)
      : comm_(comm),
        setup_(setup),
        options_(setup.planned().options),
        batches_(batches),
        job_{comm, setup.requested, setup.plans, setup.cases},
        prepared_(job_, batches, quiet) {}

  /// Checks the case as a measurement checks one before it times it.
  void run() {
    const Case& config = setup_.config();
    Expectation expectation =
        comm::agree(comm_, [&] { return Expectation(comm_, options_, batches_, config, options_.checked_steps); });
    prepared_.hold(0);
    ReadyCase& ready = prepared_.ready(0);
    const RowValues initial = options_.row_values();
    const WrongValues wrong =
        ready.pipeline ? find_wrong(comm_, expectation, initial, *ready.pipeline, ready.dense, prepared_.step_batches())
                       : find_wrong(comm_, expectation, initial, ready.flight, ready.dense, prepared_.inputs());
    gather(wrong.closeness);
    if (wrong.count > 0) fail(fmt::format("{} wrong values, {}", wrong.count, wrong.first));
    if (!expectation.follows() && !config.async.looks_up() && is_bit_exact(options_, config))
      fail_if_any(has_loose_output(expectation, std::ssize(options_.workload.features))
                      ? "an output of exact mode has a bound above 0"
                      : "");
    check_bytes(ready);
    if (ready.pipeline && ready.pipeline->shape().looks_up) check_staleness(*ready.pipeline);
  }

  /// Checks that the case goes on from a checkpoint as it does without.
  void restore(SaveKind kind, SaveMode mode) {
    if (const std::string why = differs_when_restored(comm_, setup_, prepared_, kind, mode); !why.empty()) fail(why);
  }

  const std::string& failed() const { return failed_; }
  const ClosenessByKind& closeness() const { return closeness_; }

 private:
  /// Gathers what all ranks saw.
  void gather(const ClosenessByKind& own) {
    nlohmann::json kinds = nlohmann::json::object();
    for (const auto& [kind, near] : own) kinds[kind] = {near.values, near.closest};
    for (const std::string& text : comm::all_gather(comm_, kinds.dump())) {
      const auto of_rank = nlohmann::json::parse(text);
      for (const auto& [kind, near] : of_rank.items())
        closeness_[kind].add({.values = near.at(0), .closest = near.at(1)});
    }
  }

  void fail(const std::string& why) { failed_ += (failed_.empty() ? "" : "; ") + why; }
  /// Fails if any rank does.
  void fail_if_any(const std::string& why) {
    try {
      comm::agree(comm_, [&] {
        if (!why.empty()) throw std::runtime_error(why);
      });
    } catch (const comm::CollectiveError& error) {
      fail(error.what());
    }
  }

  /// Checks the bytes of the last step. Rows that are looked up before their step may travel again; the slow count
  /// knows no parts of tables.
  void check_bytes(ReadyCase& ready) {
    const auto computes = [](const Table& table) { return storage_of(table).computes(); };
    if (std::ranges::any_of(options_.workload.tables, computes)) return;
    if (setup_.config().async.looks_up() || prepared_.inputs().front().global_ids > most_counted_ids) return;
    const std::int64_t number = ready.pipeline ? ready.pipeline->ticket() : options_.checked_steps - 1;
    const Flight& flight = ready.pipeline ? ready.pipeline->flight() : ready.flight;
    fail_if_any(unequal_bytes(comm_, setup_, batches_, number, flight));
  }

  /// Checks that no step looked up rows which lacked more updates than the case allows.
  void check_staleness(const Pipeline& pipeline) {
    const std::int64_t stale = pipeline.counts().staleness.largest(), bound = pipeline.shape().bound;
    fail_if_any(stale > bound ? fmt::format("rows lacked {} updates, staleness_bound is {}", stale, bound) : "");
  }

  const comm::Communicator& comm_;
  const CaseSetup& setup_;
  const RunOptions& options_;
  BatchSource& batches_;
  const Job job_;
  Prepared prepared_;
  std::string failed_;
  ClosenessByKind closeness_;
};

/// Runs the whole measurement, writes its record, and reads it again; returns what is wrong.
std::string measured_wrong(const comm::Communicator& comm, const CaseSetup& setup, BatchSource& batches) {
  const Job job{comm, setup.requested, setup.plans, setup.cases};
  const Measured measured = measure(job, batches, quiet, [](const Measured&) {});
  if (measured.records.size() != 1) return "a measurement made no record";
  const results::CaseRecord& record = measured.records.front();
  if (record.wrong > 0) return fmt::format("a measurement counts {} wrong values", record.wrong);
  const auto json = results::to_json(record);
  if (const results::CaseRecord again =
          results::case_record_from_json(nlohmann::ordered_json::parse(json.dump()), "record");
      results::to_json(again) != json)
    return "a record is another when it is read again";
  return {};
}

NetOutcome run_once(const comm::Communicator& comm, const NetCase& one, const PoolFacts& facts,
                    const std::string& export_file) {
  NetOutcome outcome;
  const CaseSetup setup = comm::agree(comm, [&] { return set_up(one, facts); });
  const auto batches = comm::agree(comm, [&] { return make_batch_source(setup.requested, quiet); });
  std::exception_ptr refused;  // on all ranks, and told when windows and communicators are freed as usual
  {
    CheckedCase checked(comm, setup, *batches);
    try {
      checked.run();
      if (checked.failed().empty() && is_restored(one, setup.planned().options.workload.tables))
        checked.restore(one.seed / 24 % 2 == 0 ? SaveKind::changes : SaveKind::full,
                        one.seed / 48 % 2 == 0 ? SaveMode::behind : SaveMode::stop);
    } catch (const comm::Agreed&) {
      refused = std::current_exception();
    }
    outcome.failed = checked.failed();
    outcome.closeness = checked.closeness();
  }
  if (refused) std::rethrow_exception(refused);
  if (outcome.failed.empty() && checks_memory(one)) outcome.failed = memory_beyond(comm, setup, *batches);
  if (outcome.failed.empty() && is_measured(one)) outcome.failed = measured_wrong(comm, setup, *batches);
  if (outcome.failed.empty() && !export_file.empty() &&
      why_not_exported(setup.planned().options.workload.tables).empty())
    export_step(comm, setup.planned().options, setup.planned().plan, setup.config(), *batches, export_file);
  return outcome;
}

}  // namespace

NetOutcome run_case(const comm::Communicator& comm, const NetCase& one, const PoolFacts& facts,
                    const std::string& export_file) {
  NetOutcome outcome;
  kernels::guard_bands = !shares_cores(one);
  comm::set_waiting(shares_cores(one) ? comm::Waiting::sleep : comm::Waiting::poll);
  try {
    outcome = run_once(comm, one, facts, export_file);
  } catch (const InputError& error) {
    outcome.refused = error.what();
  } catch (const comm::CollectiveError& error) {
    outcome.failed = error.what();
  }
  try {
    comm::agree(comm, kernels::check_guard_bands);
  } catch (const comm::CollectiveError& error) {
    outcome.failed += (outcome.failed.empty() ? "" : "; ") + std::string(error.what());
  }
  return outcome;
}

}  // namespace shardmark::workloads
