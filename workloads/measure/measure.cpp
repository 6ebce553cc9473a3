// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/placement/formats/plan_json.hpp"
#include "results/twin.hpp"
#include "results/verdict.hpp"
#include "workloads/measure/case_record.hpp"
#include "workloads/measure/check.hpp"
#include "workloads/measure/conditions.hpp"
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

/// Every case once more behind them all: its twin.
std::vector<PlannedCase> doubled(std::vector<PlannedCase> cases) {
  const std::size_t count = cases.size();
  for (std::size_t c = 0; c < count; ++c) cases.push_back(PlannedCase(cases[c]));
  return cases;
}

class Measurement {
 public:
  Measurement(const Job& job, BatchSource& batches, const Status& status, const Keep& keep)
      : count_(job.cases.size()),
        doubled_(doubled(job.cases)),
        job_{job.comm, job.options, job.plans, doubled_, job.machine, job.stage_cores},
        batches_(batches),
        status_(status),
        keep_(keep),
        watch_(job.comm),
        prepared_(job_, batches, status),
        cases_(doubled_.size()) {
    const auto predictions = predict_cases(job);
    for (std::size_t c = 0; c < count_; ++c) {
      const PlannedTables& planned = job_.planned(c);
      cases_[c].predicted = predictions[c];
      cases_[c].plan_digest = plan_digest(planned.plan, planned.options.workload.tables);
    }
    if (count_ > 1) twins_.push_back({.number = by_promise(all_cases()).front()});
  }

  Measured run() {
    if (job_.options.checked_steps > 0) check_first();
    begin_of_rounds_ = spent();
    plan_last_checks();
    while (!signal_ && !is_done()) run_round();
    train_all();
    if (job_.options.checked_steps > 0 && !signal_) check_again();
    return measured();
  }

 private:
  /// A case that is measured twice, as two, from a round on.
  struct TwinCase {
    std::size_t number = 0;
    std::int64_t first_round = 0;
  };

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

  /// The first of the cases that have each reference.
  std::vector<std::size_t> references(const std::vector<std::size_t>& cases) const {
    std::vector<std::size_t> firsts;
    for (const std::size_t c : cases)
      if (std::ranges::none_of(firsts, [&](std::size_t first) { return share_reference(first, c); }))
        firsts.push_back(c);
    return firsts;
  }

  /// The least time first: as measured, else as predicted; where neither is known in the order in which they were
  /// given.
  std::vector<std::size_t> by_promise(std::vector<std::size_t> cases) const {
    const auto seconds = [&](std::size_t c) {
      if (!cases_[c].timings.step_ms.empty()) return 1e-3 * cases_[c].step_time().median;
      return cases_[c].predicted ? cases_[c].predicted->seconds : std::numeric_limits<double>::max();
    };
    std::ranges::stable_sort(cases, {}, seconds);
    return cases;
  }

  /// Of the steps that are checked before timing. With a budget the most promising cases first, the others being left
  /// out once their share of it is spent.
  void check_first() {
    const auto& budget = job_.options.budget;
    double largest = 0.0;
    check_all(budget ? by_promise(all_cases()) : all_cases(), job_.options.checked_steps, &Checked::steps,
              [&](std::size_t c) {
                if (!budget || c == by_promise(all_cases()).front()) return true;
                for (std::size_t other = 0; other < count_; ++other)
                  largest = std::max(largest, cases_[other].check_seconds);
                if (spent() + largest <= share_of_first_checks * budget->count()) return true;
                return leave_out(c);
              });
    reference_step_seconds_ = reference_seconds_ / static_cast<double>(job_.options.checked_steps);
  }

  /// Of the batches that were timed, as far as there is time for it.
  void check_again() {
    auto cases = all_cases();
    std::erase_if(cases, [&](std::size_t c) { return cases_[c].timings.step_ms.empty() || cases_[c].out_of_budget; });
    check_all(cases, last_checked_steps_, &Checked::steps_after, [](std::size_t) { return true; });
  }

  bool leave_out(std::size_t c) {
    cases_[c].left_out = true;
    return false;
  }

  /// count: which of the counts of a case these steps are. Those of one reference and plan in turn, if they are wanted.
  void check_all(const std::vector<std::size_t>& cases, std::int64_t steps, std::int64_t Checked::*count,
                 const std::function<bool(std::size_t)>& wanted) {
    for (const std::size_t first : references(cases)) {
      if (!wanted(first)) {
        for (const std::size_t c : cases)
          if (share_reference(first, c)) leave_out(c);
        continue;
      }
      status_("computing the reference" + what_is_left());
      const double begin = spent();
      Expectation expectation = agree(job_.comm, [&] {
        const Case& how = job_.cases[first].how;
        return Expectation(job_.comm, job_.planned(first).options, batches_, how.movement.wire, steps, how.async);
      });
      reference_seconds_ += spent() - begin;
      for (const std::size_t c : cases) {
        if (!share_reference(first, c) || (c != first && !wanted(c))) continue;
        if (interrupted()) return;
        status_(fmt::format("checking {}{}", job_.name_of(c), what_is_left()));
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
    for (std::size_t c = 0; c < count_; ++c)
      if (!cases_[c].timings.step_ms.empty())
        standings.push_back({cases_[c].step_time(), cases_[c].checked.wrong == 0, !cases_[c].stopped.empty()});
    return standings;
  }

  std::vector<std::size_t> visited() const {
    auto cases = all_cases();
    std::erase_if(cases, [&](std::size_t c) { return cases_[c].timings.step_ms.empty(); });
    return cases;
  }

  void train_all() {
    for (std::size_t plan = 0; plan < job_.plans.size(); ++plan)
      for (const std::size_t c : cases_of(plan)) {
        const std::int64_t steps = steps_to_train(job_, c);
        if (steps == 0) continue;
        if (signal_ || interrupted()) return;
        if (cases_[c].timings.step_ms.empty()) continue;
        status_(fmt::format("training {}{}", job_.name_of(c), what_is_left()));
        prepared_.hold(plan);
        cases_[c].training = train_anew(job_, prepared_, c, steps);
        cases_[c].trained_steps = steps;
      }
  }

  /// All batches that were timed until now, or with the first rounds to come; where layers are trained the first ones
  /// alone, since their bounds grow (reference/README.md).
  std::int64_t timed_batches() const {
    if (has_layers(job_.options.dense.kind)) return job_.options.checked_steps;
    std::int64_t most = 0;
    for (std::size_t c = 0; c < count_; ++c) most = std::max(most, std::ssize(cases_[c].timings.step_ms));
    const std::int64_t all = std::ssize(prepared_.inputs());
    return std::max(job_.options.checked_steps, most > 0 ? std::min(most, all) : all);
  }

  /// How many steps are checked at last and how long that and training take, as far as is known: the reference takes
  /// that many steps anew, a case that many more and their comparison. The checks may last as long as the rounds, or
  /// their share of a budget.
  void plan_last_checks() {
    seconds_of_last_checks_ = 0.0;
    for (const std::size_t c : visited())
      seconds_of_last_checks_ += 1e-3 * static_cast<double>(steps_to_train(job_, c)) * cases_[c].step_time().median;
    if (job_.options.checked_steps == 0) return;
    const auto first = static_cast<double>(job_.options.checked_steps);
    double of_a_step = reference_step_seconds_;
    for (std::size_t c = 0; c < count_; ++c)
      if (cases_[c].checked.steps > 0 && !cases_[c].out_of_budget) of_a_step += cases_[c].check_seconds / first;
    last_checked_steps_ = steps_of_last_checks(job_.options, timed_batches(), of_a_step,
                                               job_.options.seconds * static_cast<double>(count_));
    seconds_of_last_checks_ += of_a_step * static_cast<double>(last_checked_steps_);
  }

  /// For the rounds, when nothing else ends them; the checks after them are within the budget.
  double seconds_left() const {
    const RunOptions& options = job_.options;
    if (options.budget) return options.budget->count() - spent() - seconds_of_last_checks_;
    const double of_rounds = begin_of_rounds_ ? spent() - *begin_of_rounds_ : 0.0;
    return options.seconds * static_cast<double>(count_ + (count_ > 1 ? 1 : 0)) - of_rounds;
  }

  bool is_done() const {
    if (rounds_ == 0) return false;
    return shardmark::is_done(job_.options, rounds_, seconds_left() < 0.5 * round_seconds_, standings());
  }

  void run_round() {
    const double begin = spent();
    const bool ordered = rounds_ == 0 && job_.options.budget;
    const double seconds =
        seconds_of_visit(seconds_left(), rounds_, still_measured(all_cases()).size() + (twins_.empty() ? 0 : 1));
    if (ordered)
      run_first_of_budget(seconds);
    else
      for (const std::size_t plan : order_of_turns(job_.plans.size(), job_.options.seed, rounds_)) {
        run_plan(plan, seconds);
        if (signal_) return;
      }
    if (signal_) return;
    ++rounds_;
    round_seconds_ = spent() - begin;
    plan_last_checks();
    stop_slower();
    if (job_.options.budget) fit_budget();
    keep_(measured());
  }

  void stop_slower() {
    const auto numbers = visited();
    for (const std::size_t place : certainly_slower(job_.options, standings()))
      cases_[numbers[place]].stopped = fmt::format("after round {}", rounds_);
    if (twins_.empty() || cases_[twins_.back().number].stopped.empty()) return;
    // The pair goes on with the best case.
    const auto left = by_promise(still_measured(visited()));
    if (!left.empty()) twins_.push_back({.number = left.front(), .first_round = rounds_});
  }

  /// The first round of a measurement with a budget: the most promising cases first, as long as time is left.
  void run_first_of_budget(double seconds) {
    bool first = true;
    double longest = 0.0;
    for (const std::size_t c : by_promise(still_measured(all_cases()))) {
      if (!first && seconds_left() < longest) {
        leave_out(c);
        continue;
      }
      if (prepared_.hold(job_.cases[c].plan) || first) prepared_.fill();
      visit_case(c, seconds);
      if (!twins_.empty() && twins_.back().number == c) visit_case(twin_of(c), seconds);
      longest = std::max(longest, cases_[c].visit_seconds);
      first = false;
      if (interrupted()) return;
    }
    if (!twins_.empty() && cases_[twins_.back().number].timings.step_ms.empty()) twins_.clear();
  }

  /// Stops the least promising cases of which the budget does not hold the least rounds.
  void fit_budget() {
    if (rounds_ >= least_rounds || job_.options.steps) return;
    const auto order = by_promise(still_measured(visited()));
    double round = 0.0;
    for (std::size_t place = 0; place < order.size(); ++place) {
      CaseState& state = cases_[order[place]];
      const bool has_twin = !twins_.empty() && twins_.back().number == order[place];
      round += (has_twin ? 2.0 : 1.0) * state.least_visit_seconds();
      if (place == 0 || static_cast<double>(least_rounds - rounds_) * round <= seconds_left()) continue;
      state.stopped = fmt::format("after round {}: the budget", rounds_);
      state.out_of_budget = true;
    }
  }

  void run_plan(std::size_t plan, double seconds) {
    auto cases = still_measured(cases_of(plan));
    if (cases.empty()) return;
    if (!twins_.empty() && std::ranges::find(cases, twins_.back().number) != cases.end())
      cases.push_back(twin_of(twins_.back().number));
    if (prepared_.hold(plan)) prepared_.fill();
    for (const std::size_t turn : order_of_turns(cases.size(), job_.options.seed, rounds_, 1)) {
      visit_case(cases[turn], seconds);
      if (interrupted()) return;
    }
  }

  void visit_case(std::size_t c, double seconds) {
    status_(fmt::format("timing {}, round {}{}", job_.name_of(c), rounds_ + 1, what_is_left()));
    const double before = spent();
    watch_.begin();
    visit(job_, prepared_, c, seconds, cases_[c].timings);
    cases_[c].conditions.push_back(watch_.end());
    cases_[c].visit_seconds = spent() - before;
  }

  /// ", at most 12 s left", of everything that is still to be done.
  std::string what_is_left() const {
    const RunOptions& options = job_.options;
    double round = round_seconds_;
    if (rounds_ == 0)  // as long as its check
      for (std::size_t c = 0; c < count_; ++c) round += cases_[c].check_seconds;
    if (rounds_ == 0 && round == 0.0) return "";
    return fmt::format(", at most {:.0f} s left",
                       std::ceil(seconds_to_go(options, rounds_, round, seconds_left(), seconds_of_last_checks_)));
  }

  std::vector<std::size_t> all_cases() const {
    std::vector<std::size_t> all(count_);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  /// Without twins.
  std::vector<std::size_t> cases_of(std::size_t plan) const {
    auto cases = job_.cases_of(plan);
    std::erase_if(cases, [&](std::size_t c) { return c >= count_; });
    return cases;
  }

  std::size_t twin_of(std::size_t c) const { return count_ + c; }

  std::vector<std::size_t> still_measured(std::vector<std::size_t> cases) const {
    std::erase_if(cases, [&](std::size_t c) { return !cases_[c].stopped.empty() || cases_[c].left_out; });
    return cases;
  }

  /// The latest pair with enough rounds for an interval, else the one with most.
  const TwinCase* certificate() const {
    const TwinCase* best = nullptr;
    std::int64_t most = 0;
    for (const TwinCase& each : twins_) {
      const std::int64_t visits = std::ssize(cases_[twin_of(each.number)].timings.visits);
      if (visits == 0 || (visits < most && visits < samples_for_interval)) continue;
      best = &each;
      most = visits;
    }
    return best;
  }

  Measured measured() const {
    Measured measured{.records = {}, .rounds = rounds_, .signal = signal_};
    for (std::size_t c = 0; c < count_; ++c)
      if (!cases_[c].timings.step_ms.empty())
        measured.records.push_back(case_record(job_, c, cases_[c], prepared_));
      else if (cases_[c].left_out)
        measured.left_out.push_back(job_.name_of(c));
    if (const TwinCase* twins = certificate()) {
      const auto numbers = visited();
      CaseRecord& record = measured.records[std::ranges::find(numbers, twins->number) - numbers.begin()];
      record.details[twin_field] =
          to_json(shardmark::twin_of(record.step_ms, cases_[twin_of(twins->number)].step_time(), twins->first_round,
                                     pairs_of(std::ssize(measured.records))));
    }
    record_ratios(measured.records);
    return measured;
  }

  static constexpr double share_of_first_checks = 1.0 / 3.0;

  const double begin_ = MPI_Wtime();
  const Interruption interruption_;
  const std::size_t count_;  ///< cases; each has a twin behind them, which is not visited but for those of twins_
  const std::vector<PlannedCase> doubled_;
  const Job job_;
  BatchSource& batches_;
  const Status& status_;
  const Keep& keep_;
  ConditionsWatch watch_;
  Prepared prepared_;
  std::vector<CaseState> cases_;
  std::vector<TwinCase> twins_;  ///< the last is measured now
  std::int64_t rounds_ = 0, last_checked_steps_ = 0;
  std::optional<double> begin_of_rounds_;
  double reference_seconds_ = 0.0, reference_step_seconds_ = 0.0, round_seconds_ = 0.0;
  double seconds_of_last_checks_ = 0.0;  ///< as far as it is known after the latest round
  int signal_ = 0;
};

}  // namespace

Measured measure(const Job& job, BatchSource& batches, const Status& status, const Keep& keep) {
  return Measurement(job, batches, status, keep).run();
}

}  // namespace shardmark
