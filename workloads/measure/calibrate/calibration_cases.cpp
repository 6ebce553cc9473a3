// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/calibrate/calibration_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/placement/planner.hpp"
#include "results/statistics.hpp"
#include "workloads/cases/placement_inputs.hpp"
#include "workloads/measure/memory.hpp"
#include "workloads/measure/schedule.hpp"
#include "workloads/measure/timing.hpp"

namespace shardmark::workloads {
namespace {

using enum OptimizerKind;
using enum placement::RowTransfer;

/// Is one line of the table below. Of data_parallel tables there are `tables` in all, of others so many per rank.
struct Shape {
  std::string_view planner;
  std::int64_t tables, rows, dim, hotness, batch;
  double alpha = 0.0;  ///< 0: uniform
  OptimizerKind optimizer = sgd;
  placement::RowTransfer transfer = dense_partials;
  placement::ReplicatedGradients gradients = placement::ReplicatedGradients::dense;
  ValueType wire = ValueType::fp32;
  Storage storage = Storage::dense;
  Pooling pooling = Pooling::sum;
  DenseKind dense = DenseKind::none;
  bool any_key = false;

  bool operator==(const Shape&) const = default;
};

constexpr Shape by_keys(Shape shape) {
  shape.storage = Storage::dynamic;
  return shape;
}

constexpr Shape by_any_keys(Shape shape) {
  shape.any_key = true;
  return by_keys(shape);
}

constexpr Shape as_tensor_train(Shape shape) {
  shape.storage = Storage::tt;
  return shape;
}

constexpr Shape with_layers(Shape shape) {
  shape.dense = DenseKind::dlrm;
  return shape;
}

constexpr Shape mean(Shape shape) {
  shape.pooling = Pooling::mean;
  return shape;
}

constexpr std::int64_t thousand = 1000, million = 1000000;

constexpr std::array shapes{
    // Of each kind one.
    Shape{"table_wise", 13, 100 * thousand, 16, 1, 16384, 1.05, rowwise_adagrad},
    Shape{"table_wise", 4, million, 16, 1, 8192, 0.0, rowwise_adagrad},
    Shape{"table_wise", 2, 500 * thousand, 64, 2, 4096, 0.0, rowwise_adagrad},
    Shape{"row_wise", 26, 10 * thousand, 16, 1, 2048, 1.05},
    Shape{"row_wise", 4, million, 16, 1, 8192, 0.0, rowwise_adagrad, unique_rows},
    Shape{"column_wise", 26, 10 * thousand, 16, 1, 2048, 1.05, rowwise_adagrad},
    Shape{"data_parallel", 26, thousand, 16, 1, 16384, 1.05, rowwise_adagrad},
    // Rows in memory: what a line of a row costs, and what its values.
    Shape{"table_wise", 1, 4 * million, 64, 1, 8192},
    Shape{"table_wise", 8, million, 4, 1, 8192},
    Shape{"table_wise", 2, million, 32, 10, 2048, 0.0, adagrad},
    Shape{"table_wise", 2, 250 * thousand, 128, 4, 2048},
    Shape{"table_wise", 1, 250 * thousand, 256, 2, 2048, 0.0, adam},
    Shape{"table_wise", 2, 500 * thousand, 32, 2, 4096, 0.0, adam},
    // Rows in caches of all sizes.
    Shape{"table_wise", 4, thousand, 16, 1, 8192},
    Shape{"table_wise", 4, thousand, 64, 10, 2048},
    Shape{"table_wise", 2, thousand, 256, 5, 2048, 0.0, rowwise_adagrad},
    Shape{"table_wise", 4, 20 * thousand, 32, 1, 8192, 0.0, rowwise_adagrad},
    Shape{"table_wise", 2, 20 * thousand, 128, 5, 2048},
    Shape{"table_wise", 4, 100 * thousand, 16, 2, 4096, 0.0, adagrad},
    Shape{"table_wise", 8, 100, 16, 1, 8192},
    Shape{"table_wise", 1, thousand, 4, 30, 4096},
    Shape{"table_wise", 1, 100 * thousand, 8, 30, 2048, 0.0, adam},
    // Some rows in every bag, others in none.
    Shape{"table_wise", 2, 4 * million, 16, 1, 16384, 1.05, rowwise_adagrad},
    Shape{"table_wise", 2, million, 64, 10, 2048, 1.05, rowwise_adagrad},
    Shape{"table_wise", 2, million, 32, 5, 4096, 1.2, adagrad},
    Shape{"table_wise", 2, 500 * thousand, 128, 2, 4096, 0.8},
    Shape{"table_wise", 4, 200 * thousand, 16, 3, 4096, 1.05},
    Shape{"table_wise", 13, 100 * thousand, 16, 1, 4096, 1.05, rowwise_adagrad},
    // More vectors than caches hold.
    Shape{"table_wise", 4, 250 * thousand, 64, 2, 16384, 0.0, adagrad},
    Shape{"table_wise", 8, 20 * thousand, 32, 1, 32768},
    Shape{"table_wise", 8, 100, 128, 1, 8192},
    Shape{"table_wise", 8, 100 * thousand, 128, 1, 8192, 1.05},
    Shape{"row_wise", 8, 100 * thousand, 128, 1, 8192, 1.05},
    Shape{"row_wise", 8, 100 * thousand, 128, 1, 8192, 1.05, sgd, unique_rows},
    Shape{"row_wise", 13, 100 * thousand, 16, 1, 16384, 1.05, rowwise_adagrad},
    Shape{"row_wise", 13, 100 * thousand, 16, 1, 16384, 1.05, rowwise_adagrad, sparse_partials},
    Shape{"row_wise", 13, 100 * thousand, 16, 1, 16384, 1.05, rowwise_adagrad, unique_rows},
    Shape{"row_wise", 2, 100 * thousand, 64, 5, 16384, 0.0, sgd, unique_rows},
    Shape{"column_wise", 13, 100 * thousand, 16, 1, 16384, 1.05, rowwise_adagrad},
    // Many tables, few bags.
    Shape{"table_wise", 26, 10 * thousand, 16, 1, 2048, 1.05, rowwise_adagrad},
    Shape{"table_wise", 64, thousand, 16, 1, 512},
    Shape{"table_wise", 128, thousand, 8, 1, 128},
    Shape{"table_wise", 1, thousand, 16, 1, 128},
    // Rows split.
    Shape{"row_wise", 4, million, 16, 1, 8192, 0.0, rowwise_adagrad},
    Shape{"row_wise", 1, 500 * thousand, 64, 10, 2048},
    Shape{"row_wise", 64, thousand, 16, 1, 256},
    Shape{"row_wise", 4, million, 16, 1, 8192, 0.0, rowwise_adagrad, sparse_partials},
    Shape{"row_wise", 1, 500 * thousand, 64, 10, 2048, 1.05, sgd, sparse_partials},
    Shape{"row_wise", 26, 10 * thousand, 16, 1, 2048, 0.0, sgd, sparse_partials},
    Shape{"row_wise", 1, 500 * thousand, 64, 10, 2048, 1.05, sgd, unique_rows},
    Shape{"row_wise", 1, 250 * thousand, 128, 2, 4096, 0.0, sgd, unique_rows},
    Shape{"row_wise", 26, 10 * thousand, 16, 1, 2048, 1.05, sgd, unique_rows},
    Shape{"row_wise", 1, thousand, 16, 1, 128, 0.0, sgd, unique_rows},
    Shape{"row_wise", 2, 500 * thousand, 32, 4, 4096, 0.0, sgd, reduce_scatter},
    // Columns split.
    Shape{"column_wise", 4, 500 * thousand, 32, 1, 8192},
    Shape{"column_wise", 1, 250 * thousand, 128, 10, 2048, 0.0, rowwise_adagrad},
    // Copies.
    Shape{"data_parallel", 8, thousand, 16, 1, 16384},
    Shape{"data_parallel", 2, 100 * thousand, 16, 1, 16384, 0.0, rowwise_adagrad},
    Shape{"data_parallel", 1, 50 * thousand, 64, 5, 4096, 0.0, adagrad},
    Shape{"data_parallel", 26, 200, 16, 1, 8192, 0.0, rowwise_adagrad},
    Shape{"data_parallel", 64, 100, 8, 1, 512},
    Shape{"data_parallel", 1, million, 32, 1, 8192, 1.05, rowwise_adagrad},
    Shape{"data_parallel", 4, million, 16, 1, 8192, 0.0, rowwise_adagrad, dense_partials,
          placement::ReplicatedGradients::rows},
    Shape{"data_parallel", 1, 500 * thousand, 64, 10, 2048, 1.05, sgd, dense_partials,
          placement::ReplicatedGradients::rows},
    // Bags that are divided.
    mean({"table_wise", 13, 10 * thousand, 16, 1, 8192, 1.05, adam}),
    mean({"table_wise", 2, 100 * thousand, 64, 4, 4096}),
    // Rows that are computed, and layers behind embeddings.
    Shape{"table_wise", 1, 100 * thousand, 64, 10, 512},
    Shape{"data_parallel", 1, 100 * thousand, 64, 10, 2048},
    as_tensor_train({"table_wise", 1, 100 * thousand, 64, 10, 512}),
    as_tensor_train({"data_parallel", 1, 100 * thousand, 64, 10, 2048}),
    with_layers({"table_wise", 4, 100 * thousand, 64, 1, 1024}),
    with_layers({"table_wise", 4, 100 * thousand, 64, 1, 128}),
    // Rows found by their keys.
    by_keys({"table_wise", 8, 100, 16, 1, 8192}),
    by_keys({"table_wise", 4, thousand, 16, 1, 8192}),
    by_keys({"table_wise", 4, 20 * thousand, 32, 1, 8192, 0.0, rowwise_adagrad}),
    by_keys({"table_wise", 4, million, 16, 1, 8192, 0.0, rowwise_adagrad}),
    by_keys({"table_wise", 13, 100 * thousand, 16, 1, 16384, 1.05, rowwise_adagrad}),
    by_keys({"row_wise", 13, 100 * thousand, 16, 1, 16384, 1.05, rowwise_adagrad}),
    by_keys({"row_wise", 4, million, 16, 1, 8192, 0.0, rowwise_adagrad}),
    by_any_keys({"table_wise", 4, million, 16, 1, 8192, 0.0, rowwise_adagrad}),
    by_any_keys({"table_wise", 13, 100 * thousand, 16, 1, 16384, 1.05, rowwise_adagrad}),
    by_keys({"row_wise", 13, 100 * thousand, 16, 1, 16384, 1.05, rowwise_adagrad, unique_rows}),
    // Narrow on the wire.
    Shape{"table_wise", 4, 100 * thousand, 32, 1, 8192, 0.0, sgd, dense_partials, placement::ReplicatedGradients::dense,
          ValueType::fp16},
    Shape{"row_wise", 1, 250 * thousand, 128, 2, 4096, 0.0, sgd, unique_rows, placement::ReplicatedGradients::dense,
          ValueType::fp16},
};

Workload workload_of(const Shape& shape, int ranks, double largest_table, double samples) {
  const bool copies = shape.planner == "data_parallel";
  Workload workload;
  workload.name = "calibration";
  workload.global_batch = std::max<std::int64_t>(
      ranks, std::llround(samples * static_cast<double>(copies ? shape.batch * ranks / 2 : shape.batch)));
  if (has_layers(shape.dense))  // as large as MLPerf's
    workload.dense = DenseSpec{.kind = shape.dense,
                               .numerical_features = 13,
                               .bottom_mlp = {512, 256, shape.dim},
                               .top_mlp = {1024, 1024, 512, 256, 1}};
  workload.ids.alpha = shape.alpha;
  workload.ids.distribution = shape.alpha > 0.0 ? IdDistribution::power_law : IdDistribution::uniform;
  const auto most_rows = static_cast<std::int64_t>(largest_table / static_cast<double>(4 * shape.dim));
  for (std::int64_t t = 0; t < (copies ? shape.tables : shape.tables * ranks); ++t) {
    workload.tables.push_back({.name = fmt::format("t{}", t),
                               .rows = std::max<std::int64_t>(1, std::min(shape.rows, most_rows)),
                               .dim = shape.dim,
                               .optimizer = {.kind = shape.optimizer},
                               .storage = shape.storage,
                               .any_key = shape.any_key});
    workload.features.push_back(
        {.name = fmt::format("f{}", t), .table = t, .pooling = shape.pooling, .hotness = shape.hotness});
  }
  return workload;
}

std::string case_name(const Shape& shape, const Workload& workload) {
  std::string name = fmt::format("{} {} x {} x {}, hotness {}, batch {}, {}", shape.planner, workload.tables.size(),
                                 workload.tables.front().rows, shape.dim, shape.hotness, workload.global_batch,
                                 name_of(shape.optimizer));
  if (shape.alpha > 0.0) name += fmt::format(", alpha {:g}", shape.alpha);
  if (shape.planner == "row_wise") name += fmt::format(", {}", name_of(shape.transfer));
  if (shape.gradients != placement::ReplicatedGradients::dense) name += ", gradients by rows";
  if (shape.storage != Storage::dense) name += fmt::format(", {}", name_of(shape.storage));
  if (shape.any_key) name += ", any keys";
  if (shape.dense != DenseKind::none) name += fmt::format(", {}", name_of(shape.dense));
  if (shape.pooling != Pooling::sum) name += fmt::format(", {}", name_of(shape.pooling));
  if (shape.wire != ValueType::fp32) name += fmt::format(", wire {}", name_of(shape.wire));
  return name;
}

/// Returns the number of the shape with dense tables where this one has others.
std::optional<std::size_t> like_of(Shape shape) {
  if (std::exchange(shape.storage, Storage::dense) == Storage::dense) return {};
  shape.any_key = false;
  return std::ranges::find(shapes, shape) - shapes.begin();
}

CalibrationCase case_of(const Shape& shape, int ranks, double largest_table, double samples) {
  RunOptions options;
  options.workload = workload_of(shape, ranks, largest_table, samples);
  options.checked_steps = 0;
  options.dense.kind = shape.dense;
  Case config;
  config.movement = {.transfer = shape.transfer,
                     .wire = {shape.wire, shape.wire},
                     .dedup = placement::Dedup::local,
                     .replicated_gradients = shape.gradients};
  const Workload& workload = options.workload;
  placement::Plan plan = placement::make_plan(shape.planner, workload.tables, workload.features,
                                              plan_request_of(workload, ranks, config.movement));
  return {case_name(shape, workload), options, {{std::move(plan), options}}, {{0, std::move(config)}}, like_of(shape)};
}

}  // namespace

std::vector<CalibrationCase> calibration_cases(int ranks, double largest_table, double samples) {
  std::vector<CalibrationCase> cases;
  for (const Shape& shape : shapes) cases.push_back(case_of(shape, ranks, largest_table, samples));
  return cases;
}

namespace {

constexpr double bytes_of_batches = 0x1p25;  // of ids, gradients and vectors of a case; most have less

const Status silent = [](const std::string&) {};

/// Is a case with its batches and tables, about to be timed.
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

  /// Returns medians over the steps of all visits.
  CaseTimes times() const {
    const auto median = [](std::span<const double> ms) { return 1e-3 * results::summarize(ms).median; };
    CaseTimes times{.step = median(timings_.step_ms), .steps = std::ssize(timings_.step_ms)};
    for (std::size_t p = 0; p < phase_count; ++p) times.phases[p] = median(timings_.phase_path_ms[p]);
    return times;
  }

 private:
  Job job_;
  std::unique_ptr<BatchSource> source_;
  Prepared prepared_;
  Timings timings_;
};

/// Returns numbers of cases in as few groups as fit into so many bytes, one after the other, if single cases do: cases
/// of a kind, which follow each other, are in different groups. One that is like another goes with it, as what counts
/// is how they differ.
std::vector<std::vector<std::size_t>> groups_within(std::span<const CalibrationCase> cases, double bytes) {
  for (std::size_t count = 1;; ++count) {
    std::vector<std::vector<std::size_t>> groups(count);
    std::vector<double> needed(count);
    std::vector<std::size_t> group_of(cases.size());
    std::size_t turn = 0;
    for (std::size_t c = 0; c < cases.size(); ++c) {
      group_of[c] = cases[c].like ? group_of[*cases[c].like] : turn++ % count;
      groups[group_of[c]].push_back(c);
      needed[group_of[c]] += case_bytes(cases[c]);
    }
    if (std::ranges::max(needed) <= bytes || count == cases.size()) return groups;
  }
}

}  // namespace

std::vector<CaseTimes> case_times(const comm::Communicator& comm, std::span<const CalibrationCase> cases,
                                  const CasePasses& passes, double bytes, const Status& status, NearCores& near) {
  std::vector<CaseTimes> times(cases.size());
  std::size_t known = 0;
  for (const std::vector<std::size_t>& group : groups_within(cases, bytes)) {
    if (group.empty()) continue;
    std::vector<std::unique_ptr<RunningCase>> running(group.size());
    const double share = static_cast<double>(group.size()) / static_cast<double>(cases.size());
    double all = 0.0, latest = 0.0;  // seconds of the visits of all passes and of the latest, of the slowest rank
    for (int pass = 0; pass < passes.passes && all + latest <= share * passes.all_seconds; ++pass) {
      double visits = 0.0;
      std::size_t done = 0;
      for (const std::size_t c : order_of_turns(group.size(), 1, pass)) {
        status(fmt::format("calibrating: steps {} to {} of {}, pass {} of {}, {} visited", known + 1,
                           known + group.size(), cases.size(), pass + 1, passes.passes, done++));
        if (!running[c]) running[c] = std::make_unique<RunningCase>(comm, cases[group[c]]);
        near.wait();
        const double before = MPI_Wtime();
        running[c]->visit(passes.seconds);
        visits += MPI_Wtime() - before;
      }
      all += latest = comm::all_reduce(comm, visits, comm::Reduce::max);
    }
    for (std::size_t c = 0; c < group.size(); ++c) times[group[c]] = running[c]->times();
    known += group.size();
  }
  return times;
}

double case_bytes(const CalibrationCase& of) {
  const auto& tables = of.options.workload.tables;
  double bytes = bytes_of_batches + std::ranges::max(table_bytes(of.plan(), tables));
  for (std::size_t t = 0; t < tables.size(); ++t)
    if (of.plan().tables[t].data_parallel &&
        of.config().movement.replicated_gradients == placement::ReplicatedGradients::dense)
      bytes += 8.0 * static_cast<double>(tables[t].rows * (tables[t].dim + 1));
  return bytes;
}

}  // namespace shardmark::workloads
