// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/predictions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "kernels/huge_pages.hpp"
#include "reference/dense/dense_spec.hpp"
#include "reference/sort_distinct.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/batches/lookup_statistics.hpp"
#include "workloads/cases/dense_spec_of.hpp"
#include "workloads/cases/placement_inputs.hpp"

namespace shardmark::workloads {

int ranks_per_node(const comm::Communicator& comm) {
  std::size_t most = 1;
  for (int node = 0; node < comm.nodes(); ++node) most = std::max(most, comm.ranks_of(node).size());
  return static_cast<int>(most);
}

namespace {

placement::StepContext context_of_case(const Job& job, std::size_t number,
                                       const placement::LookupStatistics& statistics) {
  const auto& [plan, options] = job.planned(number);
  placement::StepContext step =
      step_context_of(statistics, options.workload, plan, job.cases[number].how, ranks_per_node(job.comm));
  if (!has_layers(options.dense.kind)) return step;
  const DenseWork work = dense_work(dense_spec_of(options.workload, options.dense.kind));
  step.dense_flops = static_cast<double>(work.flops());
  step.dense_parameters = static_cast<double>(work.parameters);
  return step;
}

}  // namespace

std::vector<std::optional<placement::StepPrediction>> predict_cases(const Job& job) {
  std::vector<std::optional<placement::StepPrediction>> predictions(job.cases.size());
  const bool layers = has_layers(job.options.dense.kind);
  if (job.machine == nullptr || (layers && job.machine->flops <= 0.0)) return predictions;
  const placement::IdStatistics ids =
      id_statistics_of(job.comm, job.options.workload, job.options.data, [](const std::string&) {});
  for (std::size_t p = 0; p < job.plans.size(); ++p) {
    const auto& [plan, options] = job.plans[p];
    const Workload& workload = options.workload;
    const placement::LookupStatistics statistics(workload.tables, workload.features, ids);
    for (const std::size_t c : job.cases_of(p))
      predictions[c] = prepared_ahead(placement::predict_step(context_of_case(job, c, statistics), *job.machine, plan),
                                      job.cases[c].how.async);
  }
  return predictions;
}

std::optional<placement::StepPrediction> prepared_ahead(const placement::StepPrediction& step, const Async& async) {
  if (!async.on() || async.inlined()) return step;
  if (async.mode == AsyncMode::patched) return std::nullopt;
  const std::size_t first_left = index_of(async.looks_up() ? Phase::dense : Phase::lookup);
  double ahead = 0.0, rest = 0.0, exchanges = 0.0;
  for (std::size_t p = 0; p < step.phases.size(); ++p) {
    (p < first_left ? ahead : rest) += step.phases[p].seconds;
    exchanges += step.phases[p].exchange;
  }
  const std::int64_t threads =
      async.threads > 0 ? async.threads : threads_needed(ahead, rest, Async::most_auto_threads);
  placement::StepPrediction prepared = step;
  prepared.seconds =
      std::max({1.0 / predicted_rate(threads, ahead, rest), std::ranges::max(step.rank_seconds), exchanges});
  return prepared;
}

void record_prediction(const placement::StepPrediction& predicted, results::CaseRecord& record) {
  const auto ms = [](double seconds) { return std::round(1e9 * seconds) / 1e6; };
  record.predicted_ms = ms(predicted.seconds);
  for (std::size_t p = 0; p < record.phases.size(); ++p) {
    record.phases[p].predicted_ms = ms(predicted.phases[p].seconds);
    record.phases[p].least_ms = ms(predicted.phases[p].least);
  }
  record.details["predicted_memory_max"] = std::llround(std::ranges::max(predicted.memory));
}

namespace {

/// Measures on this rank while the others do the same; every round begins on all of them together.
class Ceilings {
 public:
  Ceilings(const comm::Communicator& comm, const RateSizes& sizes)
      : comm_(comm),
        sizes_(sizes),
        table_(kernels::allocate<Execution, std::uint32_t>("shardmark::table", sizes.table_bytes / 4)) {
    Kokkos::deep_copy(exec_, table_, 0U);
  }

  double huge_page_share() const { return kernels::huge_page_share(table_.data(), 4 * std::ssize(table_)); }

  std::vector<Rate> rates() {
    std::vector<Rate> rates = streams();
    for (const std::int64_t dim : {16, 64, 128}) rates.push_back(gather(dim));
    for (const std::int64_t dim : {16, 64, 128}) rates.push_back(read_modify_write(dim));
    return rates;
  }

 private:
  using Keys = std::vector<DeviceArray<std::int64_t>>;

  template <class Body>
  double best_seconds(const Body& body) const {
    double best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < sizes_.rounds; ++round) {
      comm::barrier(comm_);
      best = std::min(best, kernels::seconds(exec_, body));
    }
    return best;
  }

  std::vector<Rate> streams() const {
    const DeviceArray<float> a("shardmark::a", sizes_.array_bytes / 4), b("shardmark::b", a.size()),
        c("shardmark::c", a.size());
    const auto elements = static_cast<double>(a.size());
    const double triad = best_seconds([&] { kernels::triad<Execution>(exec_, a, b, c, 3.0F); });
    const double copy = best_seconds([&] { Kokkos::deep_copy(exec_, a, b); });
    return {{"triad", 0, kernels::triad_bytes_per_element * elements / triad, {}},
            {"copy", 0, 8 * elements / copy, {}}};
  }

  /// Returns a few lists, so that no cache remembers one: distinct rows of the table in random order.
  Keys random_keys(std::int64_t dim) const {
    const std::int64_t rows = std::ssize(table_) / dim;
    std::mt19937_64 random(comm_.rank());
    std::uniform_int_distribution<std::int64_t> draw(0, rows - 1);
    Keys lists;
    for (int list = 0; list < 8; ++list) {
      std::vector<std::int64_t> keys(sizes_.rows);
      for (auto& key : keys) key = draw(random);
      sort_distinct(keys);
      std::shuffle(keys.begin(), keys.end(), random);
      lists.push_back(kernels::array_of(exec_, keys, "shardmark::keys"));
    }
    return lists;
  }

  /// Returns the best rate of run(keys, setting), which moves `bytes_per_row`.
  template <class Run>
  Rate best_rate(std::string name, std::int64_t dim, std::int64_t bytes_per_row, const Run& run) const {
    const Keys lists = random_keys(dim);
    std::size_t turn = 0;
    const auto setting = kernels::fastest_setting(
        exec_, 4, [&](const kernels::RowSetting& each) { run(lists[turn++ % lists.size()], each); });
    double best = 0;
    for (int round = 0; round < sizes_.rounds; ++round) {
      const auto& keys = lists[turn++ % lists.size()];
      comm::barrier(comm_);
      const double time = kernels::seconds(exec_, [&] { run(keys, setting); });
      best = std::max(best, static_cast<double>(std::ssize(keys) * bytes_per_row) / time);
    }
    return {std::move(name), dim, best, setting};
  }

  Rate gather(std::int64_t dim) const {
    const DeviceArray<std::uint32_t> sink("shardmark::sink",
                                          (sizes_.rows / kernels::smallest_grain + 1) * kernels::sum_words);
    return best_rate("gather", dim, 4 * dim, [&](const auto& keys, const kernels::RowSetting& setting) {
      kernels::gather_rows<Execution>(exec_, {table_.data(), dim}, keys, setting, sink);
    });
  }

  Rate read_modify_write(std::int64_t dim) const {
    return best_rate("read_modify_write", dim, 8 * dim, [&](const auto& keys, const kernels::RowSetting& setting) {
      kernels::modify_rows<Execution>(exec_, {table_.data(), dim}, {}, keys, setting, 1U);
    });
  }

  const comm::Communicator& comm_;
  const RateSizes& sizes_;
  Execution exec_;
  DeviceArray<std::uint32_t> table_;
};

}  // namespace

MachineRates machine_rates(const comm::Communicator& comm, const RateSizes& sizes) {
  Ceilings ceilings(comm, sizes);
  return comm::agree(comm, [&] { return MachineRates{ceilings.rates(), ceilings.huge_page_share()}; });
}

}  // namespace shardmark::workloads
