// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/bench/cases.hpp"
#include "kernels/ceilings.hpp"
#include "reference/optimizer.hpp"
#include "reference/value_type.hpp"
#include "reference/work.hpp"

namespace shardmark::kernels::bench {

using Exec = DefaultSpace;

struct Options {
  std::int64_t divisor = 1;      ///< of the rows of every table, and of the batch
  std::int64_t batch_times = 1;  ///< the batch is multiplied by this
  bool ceilings = true;          ///< measure them between the timed calls
  bool list_cases = false;
};

/// A number of rows or samples divided by options.divisor, rounded up.
inline std::int64_t scaled(std::int64_t count, const Options& options) {
  return (count + options.divisor - 1) / options.divisor;
}

inline std::int64_t scaled_batch(std::int64_t samples, const Options& options) {
  return scaled(samples * options.batch_times, options);
}

/// A batch of ids, feature after feature, sample after sample; keys number the rows of all tables of the case.
struct IdBatch {
  Array<Exec, std::int64_t> ids;       ///< [ids] rows of their tables
  Array<Exec, std::int32_t> ids32;     ///< the same
  Array<Exec, std::int64_t> keys;      ///< [ids]
  Array<Exec, std::int64_t> distinct;  ///< [distinct keys] in the order in which they first appear
  Array<Exec, std::int64_t> sorted;    ///< [distinct keys] ascending
};

/// A case as it stands in memory: its shape after scaling, and batches that take turns so that no cache remembers one.
struct Problem {
  static constexpr std::size_t batch_count = 8;

  Problem(const Case& shape, const Options& options);

  const Case& shape;
  std::int64_t batch = 0;
  std::vector<std::int64_t> table_rows;
  std::vector<std::int64_t> first_key;  ///< [tables + 1]
  Array<Exec, std::int64_t> first_bag;  ///< [tables + 1]
  Array<Exec, std::int64_t> offsets;    ///< [tables * batch + 1]
  std::vector<IdBatch> batches;

  std::int64_t tables() const { return std::ssize(table_rows); }
  std::int64_t rows() const { return first_key.back(); }
  std::int64_t bags() const { return tables() * batch; }
  std::int64_t ids() const { return static_cast<std::int64_t>(batches[0].ids.extent(0)); }
  std::int64_t distinct() const;  ///< mean over the batches
  std::int64_t elements() const { return bags() * shape.dim; }
  /// "case:a/tables:1/rows:10000000/dim:64/batch:8192/values:fp32", without building the problem.
  static std::string name(const Case& shape, ValueType type, const Options& options);
};

/// The problem of the case being measured and its tables; those of the case before are dropped first.
class Suite {
 public:
  explicit Suite(const Options& options) : options_(options) {}

  const Options& options() const { return options_; }
  const Exec& exec() const { return exec_; }
  const Problem& start(const Case& shape);
  const Problem& problem() const { return *problem_; }
  /// The rows of the current problem, filled, in huge pages; those of another type are dropped first.
  WordRows rows(ValueType type);
  /// [rows, state_per_row] of the current problem, 0 when `kind` is first asked for, in huge pages.
  Array<Exec, float> state(OptimizerKind kind);
  double huge_page_share() const;  ///< of the rows
  /// The fastest setting of run(batch, setting), found when `what` is first asked for on the current problem.
  RowSetting setting(const std::string& what, const std::function<void(std::size_t, RowSetting)>& run);
  /// Bytes per second of the streaming triad, measured once.
  double triad_rate();

 private:
  Options options_;
  Exec exec_;
  std::unique_ptr<Problem> problem_;
  Array<Exec, std::uint32_t> rows_;
  Array<Exec, float> state_;
  ValueType rows_type_ = ValueType::fp32;
  OptimizerKind state_kind_ = OptimizerKind::none;
  std::map<std::string, RowSetting> settings_;
  double triad_rate_ = 0;
};

/// What a kernel is compared with between its timed calls, in percent of its own time: "gather", "rmw", ...
struct Ceiling {
  std::string name;
  std::function<void(std::size_t batch)> run;
};
/// Reading exactly the rows of the ids, see gather_rows.
Ceiling gather_ceiling(Suite& suite, const WordRows& rows);
/// Reading and writing exactly the distinct rows and their state, in the order of the ids or ascending.
Ceiling modify_ceiling(Suite& suite, const WordRows& rows, const WordRows& state, bool ascending);
/// What a backward pass cannot do without: the passes of a radix sort, each a copy of a word of 8 bytes for every id;
/// one read of the gradients; modify_ceiling in ascending order.
Ceiling backward_ceiling(Suite& suite, const WordRows& rows, const WordRows& state,
                         const Array<Exec, float>& gradients);
/// Copying half of the bytes of `work` to the other half.
Ceiling copy_ceiling(Suite& suite, const Work& work);
/// About as many flops, see multiply_in_caches.
Ceiling gemm_ceiling(Suite& suite, std::int64_t flops);

/// Times run(batch) once per iteration, the batches taking turns, and sets the counters from `work` (mean over the
/// batches): GB/s, ids/s, rows/s (distinct rows), median_us, huge_pages_% of `tables`, triad_%, and for each ceiling
/// NAME_us (its median) and NAME_% (its median over that of the kernel).
void measure(benchmark::State& state, Suite& suite, const std::function<void(std::size_t batch)>& run, const Work& work,
             const std::vector<Ceiling>& ceilings);

/// Registers a benchmark whose time is set by measure(); what run() throws becomes the row's error.
void add(const std::string& name, const std::function<void(benchmark::State&)>& run);

/// Each adds the benchmarks of one kernel on tables of one case and type, under the name kernel/Problem::name/...
void add_pooled_lookup(Suite& suite, const Case& shape, ValueType type);
void add_backward_update(Suite& suite, const Case& shape, ValueType type);
void add_bag_kernels(Suite& suite, const Case& shape, ValueType type);
void add_id_kernels(Suite& suite, const Case& shape, ValueType type);
void add_gradient_kernels(Suite& suite, const Case& shape, ValueType type);
void add_dynamic_keys(Suite& suite, const Case& shape, ValueType type);
/// The same for a case of tensor_train_cases, on types of its own.
void add_tensor_train(Suite& suite, const Case& shape);
/// Steps of dense models, which have cases of their own: GFLOP/s, in gemm_% the time of their products alone, and in
/// peak_% the share of the rate of products in the caches, see multiply_in_caches.
void add_dense_layers(Suite& suite);

}  // namespace shardmark::kernels::bench
