// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/placement/formats/plan_json.hpp"
#include "results/verdict.hpp"
#include "workloads/measure/case_checks.hpp"
#include "workloads/measure/case_predictions.hpp"
#include "workloads/measure/case_record.hpp"
#include "workloads/measure/conditions.hpp"
#include "workloads/measure/interruption.hpp"
#include "workloads/measure/near_cores.hpp"
#include "workloads/measure/prepare.hpp"
#include "workloads/measure/resume.hpp"
#include "workloads/measure/schedule.hpp"
#include "workloads/measure/training.hpp"
#include "workloads/measure/twins.hpp"

namespace shardmark::workloads {
namespace {

constexpr double share_apart = 0.5;  // of a budget, in which visits wait for NearCores

class Measurement {
 public:
  Measurement(const Job& job, BatchSource& batches, const Status& status, const Keep& keep)
      : count_(job.cases.size()),
        doubled_(doubled(job.cases)),
        job_{job.comm, job.options, job.plans, doubled_, job.machine, job.earlier, job.stage_cores},
        batches_(batches),
        status_(status),
        keep_(keep),
        watch_(job.comm),
        near_(job.comm, job.options.budget ? share_apart * job.options.budget->count() : 0.0,
              barrier_of_near_cores(job.comm)),
        prepared_(job_, batches, status),
        cases_(doubled_.size()),
        twins_(count_),
        checks_(job_, batches, prepared_, cases_,
                {.status = [this](const std::string& text) { status_(text + what_is_left()); },
                 .interrupted = [this] { return interrupted(); }}) {
    const auto predictions = predict_cases(job);
    for (std::size_t c = 0; c < count_; ++c) {
      const PlannedTables& planned = job_.planned(c);
      cases_[c].predicted = predictions[c];
      cases_[c].plan_digest = placement::plan_digest(planned.plan, planned.options.workload.tables);
    }
    if (job.earlier) resume(job);
    if (count_ > 1) twins_.begin(by_promise(cases_, all_cases()).front(), rounds_);
  }

  Measured run() {
    if (job_.options.checked_steps > 0) check_first();
    begin_of_rounds_ = spent() - earlier_seconds_;
    plan_last_checks();
    while (!signal_ && !is_done()) run_round();
    train_all();
    if (job_.options.checked_steps > 0 && !signal_) check_again();
    return measured();
  }

 private:
  /// Goes on where an earlier job stopped. Its rounds have their share of the time.
  void resume(const Job& job) {
    std::vector<CaseState> states(cases_.begin(), cases_.begin() + static_cast<std::ptrdiff_t>(count_));
    const auto others = comm::agree(job.comm, [&] { return take_over(*job.earlier, job, prepared_, states); });
    for (const std::string& name : others)
      if (job.comm.rank() == 0)
        fmt::print(stderr, "shardmark: {} of {} is not resumed: this job has no such case\n", name, job.earlier->file);
    std::ranges::move(states, cases_.begin());
    rounds_ = job.earlier->rounds();
    earlier_seconds_ = visit_seconds(cases_);
  }

  double spent() const {
    return earlier_seconds_ + comm::all_reduce(job_.comm, MPI_Wtime() - begin_, comm::Reduce::max);
  }

  bool interrupted() { return (signal_ = std::max(signal_, interruption_.signal(job_.comm))) != 0; }

  /// Checks the steps that are checked before timing. With a budget the most promising cases come first, the others
  /// being left out once their share of it is spent.
  void check_first() {
    constexpr double share = 1.0 / 3.0;
    const auto& budget = job_.options.budget;
    const auto order = budget ? by_promise(cases_, all_cases()) : all_cases();
    checks_.check(order, job_.options.checked_steps, &Checked::steps, [&](std::size_t c) {
      const double longest = std::ranges::max(cases_, {}, &CaseState::check_seconds).check_seconds;
      return !budget || c == order.front() || spent() + longest <= share * budget->count();
    });
    reference_step_seconds_ = checks_.reference_seconds() / static_cast<double>(job_.options.checked_steps);
  }

  /// Checks the batches that were timed, as far as there is time for it.
  void check_again() {
    auto cases = all_cases();
    std::erase_if(cases, [&](std::size_t c) { return cases_[c].timings.step_ms.empty() || cases_[c].out_of_budget; });
    checks_.check(cases, last_checked_steps_, &Checked::steps_after, [](std::size_t) { return true; });
  }

  std::vector<Standing> standings() const {
    std::vector<Standing> standings;
    for (std::size_t c = 0; c < count_; ++c)
      if (!cases_[c].timings.step_ms.empty())
        standings.push_back({cases_[c].step_time(), cases_[c].checked.wrong.count == 0, !cases_[c].stopped.empty()});
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
        if (steps == 0 || cases_[c].timings.step_ms.empty()) continue;
        if (signal_ || interrupted()) return;
        status_(fmt::format("training {}{}", job_.name_of(c), what_is_left()));
        prepared_.hold(plan);
        cases_[c].training = train_anew(job_, prepared_, c, steps, status_, [this] { return interrupted(); });
      }
  }

  /// Returns the number of all batches that were timed until now, or with the first rounds to come; where layers are
  /// trained of the first ones alone, since their bounds grow (docs/bounds.md).
  std::int64_t timed_batches() const {
    if (has_layers(job_.options.dense.kind)) return job_.options.checked_steps;
    std::int64_t most = 0;
    for (std::size_t c = 0; c < count_; ++c) most = std::max(most, std::ssize(cases_[c].timings.step_ms));
    const std::int64_t all = std::ssize(prepared_.inputs());
    return std::max(job_.options.checked_steps, most > 0 ? std::min(most, all) : all);
  }

  /// Plans how many steps are checked at last and how long that and training take, as far as is known: the reference
  /// takes that many steps again, a case that many more and their comparison. The checks may last as long as the
  /// rounds, or their share of a budget.
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

  /// Returns the seconds left for the rounds, when nothing else ends them; the checks after them are within the budget.
  double seconds_left() const {
    const RunOptions& options = job_.options;
    if (options.budget) return options.budget->count() - spent() - seconds_of_last_checks_;
    const double of_rounds = begin_of_rounds_ ? spent() - *begin_of_rounds_ : 0.0;
    return options.seconds * static_cast<double>(count_ + (count_ > 1 ? 1 : 0)) - of_rounds;
  }

  bool is_done() const {
    if (rounds_ == 0) return false;
    return workloads::is_done(job_.options, rounds_, seconds_left() < 0.5 * round_seconds_, standings());
  }

  void run_round() {
    const double begin = spent();
    const double seconds =
        seconds_of_visit(seconds_left(), rounds_, still_measured(all_cases()).size() + (twins_.current() ? 1 : 0));
    if (rounds_ == 0 && job_.options.budget)
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
    if (!twins_.current() || cases_[*twins_.current()].stopped.empty()) return;
    // The pair goes on with the best case.
    const auto left = by_promise(cases_, still_measured(visited()));
    if (!left.empty()) twins_.begin(left.front(), rounds_);
  }

  /// Runs the first round of a measurement with a budget: the most promising cases first, as long as time is left.
  void run_first_of_budget(double seconds) {
    double longest = 0.0;
    for (const std::size_t c : by_promise(cases_, still_measured(all_cases()))) {
      if (longest > 0.0 && seconds_left() < longest) {
        cases_[c].left_out = true;
        continue;
      }
      if (prepared_.hold(job_.cases[c].plan) || longest == 0.0) prepared_.fill();
      visit_case(c, seconds);
      if (twins_.current() == c) visit_case(twins_.twin_of(c), seconds);
      longest = std::max(longest, cases_[c].visit_seconds);
      if (interrupted()) return;
    }
  }

  /// Stops the least promising cases of which the budget does not hold the least rounds.
  void fit_budget() {
    if (rounds_ >= least_rounds || job_.options.steps) return;
    const auto order = by_promise(cases_, still_measured(visited()));
    double round = 0.0;
    for (std::size_t place = 0; place < order.size(); ++place) {
      CaseState& state = cases_[order[place]];
      round += (twins_.current() == order[place] ? 2.0 : 1.0) * state.least_visit_seconds();
      if (place == 0 || static_cast<double>(least_rounds - rounds_) * round <= seconds_left()) continue;
      state.stopped = fmt::format("after round {}{}", rounds_, stopped_by_budget);
      state.out_of_budget = true;
    }
  }

  void run_plan(std::size_t plan, double seconds) {
    auto cases = still_measured(cases_of(plan));
    if (cases.empty()) return;
    if (twins_.current() && std::ranges::find(cases, *twins_.current()) != cases.end())
      cases.push_back(twins_.twin_of(*twins_.current()));
    if (prepared_.hold(plan)) prepared_.fill();
    for (const std::size_t turn : order_of_turns(cases.size(), job_.options.seed, rounds_, 1)) {
      visit_case(cases[turn], seconds);
      if (interrupted()) return;
    }
  }

  void visit_case(std::size_t c, double seconds) {
    status_(fmt::format("timing {}, round {}{}", job_.name_of(c), rounds_ + 1, what_is_left()));
    const double barrier = near_.wait();
    const double before = spent();
    watch_.begin();
    visit(job_, prepared_, c, seconds, cases_[c].timings);
    cases_[c].conditions.push_back(watch_.end());
    cases_[c].conditions.back().barrier_seconds = barrier;
    cases_[c].visit_seconds = spent() - before;
  }

  /// Returns ", at most 12 s left", of everything that is still to be done.
  std::string what_is_left() const {
    double round = round_seconds_;
    if (rounds_ == 0)  // as long as its check
      for (std::size_t c = 0; c < count_; ++c) round += cases_[c].check_seconds;
    if (rounds_ == 0 && round == 0.0) return "";
    return fmt::format(", at most {:.0f} s left",
                       std::ceil(seconds_to_go(job_.options, rounds_, round, seconds_left(), seconds_of_last_checks_)));
  }

  std::vector<std::size_t> all_cases() const {
    std::vector<std::size_t> all(count_);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  /// Returns the cases of a plan without twins.
  std::vector<std::size_t> cases_of(std::size_t plan) const {
    auto cases = job_.cases_of(plan);
    std::erase_if(cases, [&](std::size_t c) { return c >= count_; });
    return cases;
  }

  std::vector<std::size_t> still_measured(std::vector<std::size_t> cases) const {
    std::erase_if(cases, [&](std::size_t c) { return !cases_[c].stopped.empty() || cases_[c].left_out; });
    return cases;
  }

  Measured measured() const {
    Measured measured{.records = {}, .rounds = rounds_, .signal = signal_};
    for (std::size_t c = 0; c < count_; ++c)
      if (!cases_[c].timings.step_ms.empty())
        measured.records.push_back(case_record(job_, c, cases_[c], prepared_));
      else if (cases_[c].left_out)
        measured.left_out.push_back(job_.name_of(c));
    twins_.certify(cases_, visited(), measured.records);
    results::record_ratios(measured.records);
    return measured;
  }

  const double begin_ = MPI_Wtime();
  const Interruption interruption_;
  const std::size_t count_;  ///< cases; each has a twin behind them, which is not visited but for those of twins_
  const std::vector<PlannedCase> doubled_;
  const Job job_;
  BatchSource& batches_;
  const Status& status_;
  const Keep& keep_;
  ConditionsWatch watch_;
  NearCores near_;
  Prepared prepared_;
  std::vector<CaseState> cases_;
  Twins twins_;
  CaseChecks checks_;
  std::int64_t rounds_ = 0, last_checked_steps_ = 0;
  std::optional<double> begin_of_rounds_;
  double reference_step_seconds_ = 0.0, round_seconds_ = 0.0;
  double earlier_seconds_ = 0.0;         ///< that the visits of the job before took
  double seconds_of_last_checks_ = 0.0;  ///< as far as it is known after the latest round
  int signal_ = 0;
};

}  // namespace

Measured measure(const Job& job, BatchSource& batches, const Status& status, const Keep& keep) {
  return Measurement(job, batches, status, keep).run();
}

}  // namespace shardmark::workloads
