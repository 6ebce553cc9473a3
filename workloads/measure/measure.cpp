// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "reference/counter_random.hpp"
#include "results/statistics.hpp"
#include "workloads/cases/option_table.hpp"
#include "workloads/step/training_step.hpp"

namespace shardmark {
namespace {

constexpr double wanted_half_width = 0.025;
constexpr double seconds_per_visit = 0.25;  // how long a case is timed before the next one has its turn
constexpr std::int64_t least_rounds = 3;

constexpr std::size_t phases = phase_names.size();

/// Per step: the time and phases of the slowest rank, their means over ranks, and the bytes of the busiest: those that
/// it sends, and of the lookup those that it reads and writes in the first batch.
struct Samples {
  std::vector<double> step_ms;
  std::array<std::vector<double>, phases> phase_max_ms, phase_mean_ms;
  std::array<std::int64_t, phases> phase_bytes{};
  std::vector<double> imbalance;
  std::vector<double> communication_ms, exposed_ms;  ///< of the rank that waits longest
  std::int64_t sent_bytes = 0;
  double huge_page_share = 0.0;  ///< of the rows, on the rank with the least
  RowCounts rows;                ///< of the last step, over all ranks, where rows travel one by one
};

/// A permutation of [0, n), keyed.
std::vector<std::size_t> shuffled(std::size_t n, std::uint64_t seed, std::int64_t round, std::int64_t what) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return random_bits(seed, round, what, i); });
  return order;
}

/// To three decimals.
double ratio(std::int64_t over, std::int64_t under) {
  return std::round(1e3 * static_cast<double>(over) / static_cast<double>(under)) / 1e3;
}

class Measurement {
 public:
  Measurement(const Communicator& comm, const RunOptions& options, const std::vector<Plan>& plans,
              const std::vector<PlannedCase>& cases, BatchSource& batches, const Status& status)
      : comm_(comm),
        options_(options),
        plans_(plans),
        cases_(cases),
        batches_(batches),
        status_(status),
        samples_(cases.size()),
        wrong_(cases.size()),
        visit_steps_(cases.size(), 0),
        wire_errors_(cases.size()),
        picked_(cases.size()),
        picked_dedups_(cases.size()) {
    make_inputs(batches);
  }

  /// The reference runs once for each pair of wire types: its bounds depend on them.
  void check_all() {
    if (options_.checked_steps == 0) return;
    std::vector<WireTypes> wires;
    for (const PlannedCase& each : cases_)
      if (std::ranges::find(wires, each.how.movement.wire) == wires.end()) wires.push_back(each.how.movement.wire);
    for (const WireTypes wire : wires) {
      status_("computing the reference");
      const Expectation expectation = agree(comm_, [&] { return Expectation(comm_, options_, batches_, wire); });
      for (std::size_t plan = 0; plan < plans_.size(); ++plan)
        for (const std::size_t c : cases_of(plan))
          if (cases_[c].how.movement.wire == wire) check(c, expectation);
    }
  }

  void time_all() {
    const double begin = MPI_Wtime();
    const double budget = options_.seconds * static_cast<double>(cases_.size());
    for (std::int64_t round = 0;; ++round) {
      for (const std::size_t plan : shuffled(plans_.size(), options_.seed, round, 0)) {
        if (hold(plan)) tables_->fill(options_.row_values());
        const auto cases = cases_of(plan);
        for (const std::size_t i : shuffled(cases.size(), options_.seed, round, 1)) visit(cases[i]);
      }
      const double spent = all_reduce(comm_, MPI_Wtime() - begin, Reduce::max);
      status_(fmt::format("timed {} round{} of {} cases, {:.0f} s", round + 1, round ? "s" : "", cases_.size(), spent));
      if (done(round + 1, spent, budget)) return;
    }
  }

  std::vector<CaseRecord> records() const {
    std::vector<CaseRecord> records;
    for (std::size_t c = 0; c < cases_.size(); ++c) records.push_back(record_of(c));
    return records;
  }

 private:
  void make_inputs(BatchSource& batches) {
    const SampleRange own = samples_of(options_.workload.global_batch, comm_.size(), comm_.rank());
    for (std::int64_t step = 0; step < std::max(options_.batches, options_.checked_steps); ++step) {
      status_(fmt::format("preparing batch {}", step));
      const Batch batch = agree(comm_, [&] { return batches.read(step, own.first, own.count); });
      inputs_.push_back(make_step_input(comm_, options_.workload, batch, own.first, step, options_.gradients()));
    }
  }

  void check(std::size_t c, const Expectation& expectation) {
    status_(fmt::format("checking {}", case_name(c)));
    hold(cases_[c].plan);
    GroupedEmbedding& embedding = embedding_of(c);
    embedding.wire().watch(true);
    wrong_[c] = count_wrong(comm_, expectation, options_.row_values(), *tables_, embedding, inputs_);
    embedding.wire().watch(false);
    const auto error = [&](Direction direction) {
      const kernels::VectorErrors& own = embedding.wire().error(direction);
      const double squares = all_reduce(comm_, own.squares, Reduce::sum);
      const double error_squares = all_reduce(comm_, own.error_squares, Reduce::sum);
      return VectorError{.max = all_reduce(comm_, own.largest, Reduce::max),
                         .rms = squares > 0.0 ? std::sqrt(error_squares / squares) : 0.0};
    };
    wire_errors_[c] = WireError{error(Direction::forward), error(Direction::backward)};
  }

  std::vector<std::size_t> cases_of(std::size_t plan) const {
    std::vector<std::size_t> cases;
    for (std::size_t c = 0; c < cases_.size(); ++c)
      if (cases_[c].plan == plan) cases.push_back(c);
    return cases;
  }

  std::string case_name(std::size_t c) const {
    return fmt::format("{} {}", plans_[cases_[c].plan].name, cases_[c].how.name());
  }

  /// Makes the tables of a plan the ones in memory; true when they are new, without values.
  bool hold(std::size_t plan) {
    if (tables_ && held_ == plan) return false;
    embeddings_.clear();
    tables_.reset();
    agree(comm_,
          [&] { tables_.emplace(plans_[plan], options_.workload.tables, options_.workload.features, comm_.rank()); });
    held_ = plan;
    return true;
  }

  GroupedEmbedding& embedding_of(std::size_t c) {
    auto& embedding = embeddings_[c];
    if (!embedding)
      embedding =
          std::make_unique<GroupedEmbedding>(comm_, *tables_, plans_[cases_[c].plan], cases_[c].how, options_.fault);
    return *embedding;
  }

  /// Two untimed steps, then as many timed ones as a visit lasts.
  void visit(std::size_t c) {
    GroupedEmbedding& embedding = embedding_of(c);
    training_step(embedding, inputs_.front());
    if (samples_[c].step_ms.empty()) look_at_memory(embedding, samples_[c]);
    const double begin = MPI_Wtime();
    training_step(embedding, inputs_.back());
    const double warm = all_reduce(comm_, MPI_Wtime() - begin, Reduce::max);
    std::int64_t& steps = visit_steps_[c];
    if (steps == 0)
      steps = options_.steps ? (*options_.steps + least_rounds - 1) / least_rounds
                             : std::clamp<std::int64_t>(static_cast<std::int64_t>(seconds_per_visit / warm), 2, 200);
    std::int64_t left = steps;
    if (options_.steps) left = std::min(left, *options_.steps - std::ssize(samples_[c].step_ms));
    for (std::int64_t i = 0; i < left; ++i) time_step(embedding, samples_[c]);
    picked_[c] = embedding.picked();
    picked_dedups_[c] = embedding.picked_dedup();
  }

  /// After a step, and not for each: it sorts ids and reads how the system maps the tables.
  void look_at_memory(GroupedEmbedding& embedding, Samples& samples) const {
    samples.phase_bytes[index_of(Phase::lookup)] = all_reduce(comm_, embedding.lookup_bytes(), Reduce::max);
    samples.huge_page_share = all_reduce(comm_, tables_->huge_page_share(), Reduce::min);
  }

  void time_step(GroupedEmbedding& embedding, Samples& samples) {
    const auto number = samples.step_ms.size();
    barrier(comm_);
    const double begin = MPI_Wtime();
    const PhaseCosts costs = training_step(embedding, inputs_[number % inputs_.size()]);
    const double seconds = MPI_Wtime() - begin;

    std::array<double, phases + 1> largest, sum;
    std::ranges::copy(costs.seconds, largest.begin());
    largest[phases] = seconds;
    sum = largest;
    all_reduce(comm_, std::span<double>(largest), Reduce::max);
    all_reduce(comm_, std::span<double>(sum), Reduce::sum);
    std::array<std::int64_t, phases + 1> bytes;
    std::ranges::copy(costs.bytes, bytes.begin());
    bytes[phases] = costs.sent();
    all_reduce(comm_, std::span<std::int64_t>(bytes), Reduce::max);
    std::array<double, 2> calls{costs.communication_seconds, costs.exposed_seconds};
    all_reduce(comm_, std::span<double>(calls), Reduce::max);
    samples.communication_ms.push_back(1e3 * calls[0]);
    samples.exposed_ms.push_back(1e3 * calls[1]);
    samples.step_ms.push_back(1e3 * largest[phases]);
    for (std::size_t p = 0; p < phases; ++p) {
      samples.phase_max_ms[p].push_back(1e3 * largest[p]);
      samples.phase_mean_ms[p].push_back(1e3 * sum[p] / comm_.size());
      samples.phase_bytes[p] = std::max(samples.phase_bytes[p], bytes[p]);
    }
    samples.sent_bytes = std::max(samples.sent_bytes, bytes[phases]);
    const RowCounts rows = embedding.row_counts();
    samples.rows = {all_reduce(comm_, rows.ids, Reduce::sum), all_reduce(comm_, rows.asked, Reduce::sum),
                    all_reduce(comm_, rows.read, Reduce::sum)};
    samples.imbalance.push_back(lookup_imbalance(largest, sum));
  }

  bool done(std::int64_t rounds, double spent, double budget) const {
    if (options_.steps)
      return std::ranges::all_of(samples_, [&](const Samples& s) { return std::ssize(s.step_ms) >= *options_.steps; });
    if (rounds < least_rounds) return false;
    if (spent >= budget) return true;
    return std::ranges::all_of(
        samples_, [](const Samples& s) { return summarize(s.step_ms).relative_half_width() <= wanted_half_width; });
  }

  /// Maximum over mean of the ranks' lookup times: in the phases that communicate, ranks wait for each other.
  double lookup_imbalance(std::span<const double> largest, std::span<const double> sum) const {
    const auto lookup = static_cast<std::size_t>(Phase::lookup);
    const double mean = sum[lookup] / comm_.size();
    return mean > 0.0 ? largest[lookup] / mean : 1.0;
  }

  CaseRecord record_of(std::size_t c) const {
    const Samples& samples = samples_[c];
    CaseRecord record;
    record.workload = options_.workload.name;
    const Plan& plan = plans_[cases_[c].plan];
    record.plan = plan.name;
    record.options = case_options(options_, cases_[c].how, plan);
    record.changed = changed_options(options_, cases_[c].how);
    record.details = schedule_options(options_);
    record.wire_error = wire_errors_[c];
    record.ranks = comm_.size();
    record.threads = Execution().concurrency();
    record.step_ms = step_time(samples.step_ms);
    record.samples_per_s = samples_per_second(options_.workload.global_batch, record.step_ms.median);
    for (std::size_t p = 0; p < phases; ++p)
      record.phases.push_back({.name = std::string(phase_names[p]),
                               .median_ms = summarize(samples.phase_max_ms[p]).median,
                               .mean_over_ranks_ms = summarize(samples.phase_mean_ms[p]).median,
                               .bytes = samples.phase_bytes[p]});
    record.communication_ms = summarize(samples.communication_ms).median;
    record.exposed_ms = summarize(samples.exposed_ms).median;
    record.imbalance = summarize(samples.imbalance).median;
    record.sent_bytes_max = samples.sent_bytes;
    record.details["huge_page_share"] = std::round(1e3 * samples.huge_page_share) / 1e3;
    if (samples.rows.read > 0) {
      if (!picked_dedups_[c].empty()) record.details["dedup_picked"] = picked_dedups_[c];
      record.details["ids_per_row"] = ratio(samples.rows.ids, samples.rows.asked);
      record.details["rows_per_read"] = ratio(samples.rows.asked, samples.rows.read);
    }
    record.checked_steps = options_.checked_steps;
    record.wrong = wrong_[c];
    if (!picked_[c].empty()) record.details["picked"] = picked_[c];
    return record;
  }

  const Communicator& comm_;
  const RunOptions& options_;
  const std::vector<Plan>& plans_;
  const std::vector<PlannedCase>& cases_;
  BatchSource& batches_;
  const Status& status_;
  std::vector<StepInput> inputs_;
  std::vector<Samples> samples_;
  std::vector<std::int64_t> wrong_, visit_steps_;
  std::vector<std::optional<WireError>> wire_errors_;
  std::vector<std::string> picked_, picked_dedups_;
  std::size_t held_ = 0;
  std::optional<ShardedTables> tables_;
  std::map<std::size_t, std::unique_ptr<GroupedEmbedding>> embeddings_;
};

}  // namespace

std::vector<CaseRecord> measure(const Communicator& comm, const RunOptions& options, const std::vector<Plan>& plans,
                                const std::vector<PlannedCase>& cases, BatchSource& batches, const Status& status) {
  Measurement measurement(comm, options, plans, cases, batches, status);
  measurement.check_all();
  measurement.time_all();
  return measurement.records();
}

}  // namespace shardmark
