// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "workloads/measure/case_record.hpp"
#include "workloads/measure/check.hpp"
#include "workloads/measure/dense/train_anew.hpp"
#include "workloads/measure/interruption.hpp"
#include "workloads/measure/predictions.hpp"
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

class Measurement {
 public:
  Measurement(const Job& job, BatchSource& batches, const Status& status, const Keep& keep)
      : job_(job),
        batches_(batches),
        status_(status),
        keep_(keep),
        prepared_(job, batches, status),
        cases_(job.cases.size()) {
    const auto predictions = predict_cases(job);
    for (std::size_t c = 0; c < cases_.size(); ++c) cases_[c].predicted = predictions[c];
  }

  Measured run() {
    if (job_.options.checked_steps > 0) check_all(job_.options.checked_steps, &Checked::steps);
    seconds_before_rounds_ = spent();
    seconds_of_last_checks_ = seconds_of_last_checks();
    require_budget();
    while (!signal_ && !is_done()) run_round();
    train_all();
    if (job_.options.checked_steps > 0 && !signal_) check_all(steps_of_last_checks(), &Checked::steps_after);
    return measured();
  }

 private:
  double spent() const { return all_reduce(job_.comm, MPI_Wtime() - begin_, Reduce::max); }

  bool interrupted() { return (signal_ = std::max(signal_, interruption_.signal(job_.comm))) != 0; }

  /// What the reference of a case depends on: its values on the storage of the tables and how stale rows may be, its
  /// bounds on the wire types.
  bool share_reference(std::size_t one, std::size_t other) const {
    const Case &a = job_.cases[one].how, &b = job_.cases[other].how;
    if (follows_case(job_.options, a.async) || follows_case(job_.options, b.async)) return one == other;
    const auto tables_of = [&](std::size_t c) { return std::span(job_.planned(c).options.workload.tables); };
    return a.movement.wire == b.movement.wire && a.storage == b.storage &&
           a.async.most_stale() == b.async.most_stale() &&
           std::ranges::equal(tables_of(one), tables_of(other), {}, &Table::storage, &Table::storage);
  }

  /// The first case of each reference.
  std::vector<std::size_t> references() const {
    std::vector<std::size_t> firsts;
    for (const std::size_t c : all_cases())
      if (std::ranges::none_of(firsts, [&](std::size_t first) { return share_reference(first, c); }))
        firsts.push_back(c);
    return firsts;
  }

  /// count: which of the counts of a case these steps are.
  void check_all(std::int64_t steps, std::int64_t Checked::*count) {
    for (const std::size_t first : references()) {
      status_("computing the reference");
      const double begin = spent();
      Expectation expectation = agree(job_.comm, [&] {
        const Case& how = job_.cases[first].how;
        return Expectation(job_.comm, job_.planned(first).options, batches_, how.movement.wire, steps, how.async);
      });
      reference_seconds_ += spent() - begin;
      for (std::size_t plan = 0; plan < job_.plans.size(); ++plan)
        for (const std::size_t c : job_.cases_of(plan)) {
          if (!share_reference(first, c)) continue;
          if (interrupted()) return;
          status_(fmt::format("checking {}", job_.name_of(c)));
          const double before = spent();
          check(c, expectation);
          cases_[c].check_seconds = spent() - before;
          cases_[c].checked.*count = steps;
        }
    }
  }

  void check(std::size_t number, Expectation& expectation) {
    prepared_.hold(job_.cases[number].plan);
    ReadyCase& ready = prepared_.ready(number);
    Checked& checked = cases_[number].checked;
    const RowValues initial = job_.planned(number).options.row_values();
    ready.watch_wire(true);
    checked.wrong +=
        ready.pipeline
            ? count_wrong(job_.comm, expectation, initial, *ready.pipeline, ready.dense, prepared_.step_batches())
            : count_wrong(job_.comm, expectation, initial, ready.flight, ready.dense, prepared_.inputs());
    ready.watch_wire(false);
    checked.wire_error = WireError{wire_error(job_.comm, ready.wire_error(Direction::forward)),
                                   wire_error(job_.comm, ready.wire_error(Direction::backward))};
  }

  std::vector<Standing> standings() const {
    std::vector<Standing> standings;
    for (const CaseState& each : cases_)
      standings.push_back(standing_of(each.step_time(), each.checked.wrong == 0, !each.stopped.empty()));
    return standings;
  }

  void train_all() {
    for (std::size_t plan = 0; plan < job_.plans.size(); ++plan)
      for (const std::size_t c : job_.cases_of(plan)) {
        const std::int64_t steps = steps_to_train(job_, c);
        if (steps == 0) continue;
        if (signal_ || interrupted()) return;
        status_(fmt::format("training {}", job_.name_of(c)));
        prepared_.hold(plan);
        cases_[c].training = train_anew(job_, prepared_, c, steps);
        cases_[c].trained_steps = steps;
      }
  }

  /// All batches; where layers are trained the first ones alone, since their bounds grow (reference/README.md).
  std::int64_t steps_of_last_checks() const {
    return has_layers(job_.options.dense.kind) ? job_.options.checked_steps : std::ssize(prepared_.inputs());
  }

  /// Of training anew, and of the checks to come: the reference takes as many more steps, a case that many more steps
  /// and their comparison.
  double seconds_of_last_checks() const {
    double training = 0.0;
    for (std::size_t c = 0; c < cases_.size(); ++c)
      if (!cases_[c].timings.step_ms.empty())
        training += 1e-3 * static_cast<double>(steps_to_train(job_, c)) * cases_[c].step_time().median;
    if (job_.options.checked_steps == 0) return training;
    const auto steps = static_cast<double>(job_.options.checked_steps);
    const double more = static_cast<double>(steps_of_last_checks()) - steps;
    double seconds = training + reference_seconds_ * (1.0 + more / steps);
    for (const CaseState& each : cases_) {
      seconds += each.check_seconds;
      if (!each.timings.step_ms.empty()) seconds += more * 2e-3 * each.step_time().median;
    }
    return seconds;
  }

  /// For the rounds, when nothing else ends them; the checks after them are within the budget.
  double seconds_left() const {
    const RunOptions& options = job_.options;
    if (options.budget) return options.budget->count() - spent() - seconds_of_last_checks_;
    return options.seconds * static_cast<double>(cases_.size()) - (spent() - seconds_before_rounds_);
  }

  void require_budget() const {
    const auto& budget = job_.options.budget;
    const double left = seconds_left();
    if (!budget || left >= 0.0) return;
    agree(job_.comm, [&] {
      throw InputError(
          fmt::format("--budget {:g}s: preparing, one round of {} cases and their checks take {:.0f} s; "
                      "give more, or fewer cases",
                      budget->count(), cases_.size(), std::ceil(budget->count() - left)));
    });
  }

  bool is_done() const {
    if (rounds_ == 0) return false;
    return shardmark::is_done(job_.options, rounds_, seconds_left() < 0.5 * round_seconds_, standings());
  }

  void run_round() {
    const double begin = spent();
    const double seconds = seconds_of_visit(seconds_left(), rounds_, still_measured(all_cases()).size());
    for (const std::size_t plan : order_of_turns(job_.plans.size(), job_.options.seed, rounds_)) {
      run_plan(plan, seconds);
      if (signal_) return;
    }
    ++rounds_;
    round_seconds_ = spent() - begin;
    seconds_of_last_checks_ = seconds_of_last_checks();
    const auto slower = certainly_slower(job_.options, standings());
    for (const std::size_t c : slower) cases_[c].stopped = fmt::format("after round {}", rounds_);
    keep_(measured());
    if (rounds_ == 1) require_budget();
  }

  void run_plan(std::size_t plan, double seconds) {
    const auto cases = still_measured(job_.cases_of(plan));
    if (cases.empty()) return;
    if (prepared_.hold(plan)) prepared_.fill();
    for (const std::size_t turn : order_of_turns(cases.size(), job_.options.seed, rounds_, 1)) {
      status_(fmt::format("timing {}, round {}{}", job_.name_of(cases[turn]), rounds_ + 1, what_is_left()));
      visit(job_, prepared_, cases[turn], seconds, cases_[cases[turn]].timings);
      if (interrupted()) return;
    }
  }

  std::string what_is_left() const {
    if (job_.options.steps) return fmt::format(" of {}", least_rounds);
    const double of_least_rounds = static_cast<double>(least_rounds - rounds_) * round_seconds_;
    return fmt::format(", at most {:.0f} s left",
                       seconds_of_last_checks_ + std::max({0.0, seconds_left(), of_least_rounds}));
  }

  std::vector<std::size_t> all_cases() const {
    std::vector<std::size_t> all(cases_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  std::vector<std::size_t> still_measured(std::vector<std::size_t> cases) const {
    std::erase_if(cases, [&](std::size_t c) { return !cases_[c].stopped.empty(); });
    return cases;
  }

  Measured measured() const {
    Measured measured{.records = {}, .rounds = rounds_, .signal = signal_};
    for (std::size_t c = 0; c < cases_.size(); ++c)
      if (!cases_[c].timings.step_ms.empty()) measured.records.push_back(case_record(job_, c, cases_[c], prepared_));
    return measured;
  }

  const double begin_ = MPI_Wtime();
  const Interruption interruption_;
  const Job& job_;
  BatchSource& batches_;
  const Status& status_;
  const Keep& keep_;
  Prepared prepared_;
  std::vector<CaseState> cases_;
  std::int64_t rounds_ = 0;
  double reference_seconds_ = 0.0, seconds_before_rounds_ = 0.0, round_seconds_ = 0.0;
  double seconds_of_last_checks_ = 0.0;  ///< as far as it is known after the latest round
  int signal_ = 0;
};

}  // namespace

Measured measure(const Job& job, BatchSource& batches, const Status& status, const Keep& keep) {
  return Measurement(job, batches, status, keep).run();
}

}  // namespace shardmark
