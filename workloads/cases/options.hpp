// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "datasets/id_mapping.hpp"
#include "kernels/route/bounds_check.hpp"
#include "reference/dense/dense_spec.hpp"
#include "reference/row_values.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/fault.hpp"
#include "workloads/cases/option_table.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {

/// Selects when the batches of timed steps are read.
enum class DataReading { before, steps };

inline constexpr std::array data_readings{
    Choice<DataReading>{"before", "before the first step; timed steps take those in memory in turns",
                        DataReading::before},
    Choice<DataReading>{"steps", "each by its step, or prefetched by the threads of --async; the data in their order",
                        DataReading::steps},
};
constexpr auto choices_of(DataReading) { return Choices{"reading", data_readings}; }

/// Selects which rows checkpoints have.
enum class SaveKind { full, changes };

inline constexpr std::array save_kinds{
    Choice<SaveKind>{"full", "all rows", SaveKind::full},
    Choice<SaveKind>{"changes",
                     "rows that were touched since the checkpoint before, until these are more bytes than all",
                     SaveKind::changes},
};
constexpr auto choices_of(SaveKind) { return Choices{"save kind", save_kinds}; }

/// Says whether training waits for a save.
enum class SaveMode { stop, behind };

inline constexpr std::array save_modes{
    Choice<SaveMode>{"stop", "the next step waits until all rows are saved", SaveMode::stop},
    Choice<SaveMode>{"behind", "steps go on meanwhile; a row that one updates is first copied for the save",
                     SaveMode::behind},
};
constexpr auto choices_of(SaveMode) { return Choices{"save mode", save_modes}; }

/// Says where samples come from when they are not generated.
struct DataOptions {
  std::string file;
  datasets::IdRule id_rule = datasets::IdRule::modulo;
  std::int64_t min_count = 1;
  datasets::Malformed malformed = datasets::Malformed::stop;
  DataReading reading = DataReading::before;
};

/// Selects the model behind the embeddings, and how its weights are trained.
struct DenseOptions {
  DenseKind kind = DenseKind::none;
  OptimizerKind optimizer = OptimizerKind::sgd;
  float learning_rate = 0.1F;

  Optimizer optimizer_of_weights() const { return {.kind = optimizer, .learning_rate = learning_rate}; }
};

/// Is a duration; on the command line 90, 90s, 1.5m or 2h.
using Seconds = std::chrono::duration<double>;

/// Holds everything that the cases of `run` or `compare` share. What differs between them is a Case.
struct RunOptions {
  Workload workload;
  DataOptions data;
  DenseOptions dense;
  std::uint64_t seed = 1;
  bool exact = false;
  Fault fault = Fault::none;
  std::int64_t crash_at = 1;  ///< with Fault::crash
  kernels::BoundsCheck bounds_check = kernels::BoundsCheck::on;
  std::int64_t batches = 0;           ///< different ones that the timed steps rotate through; 0: as many as it takes
  std::int64_t checked_steps = 2;     ///< 0: off
  std::optional<std::int64_t> steps;  ///< timed steps per case; absent: until the median is known well enough
  /// This is the number of steps that each case takes from its first weights on, on new batches, for loss and AUC;
  /// absent: see below.
  std::optional<std::int64_t> trained_steps;
  std::string save, restore;    ///< folders of checkpoints of the steps that are trained; empty: none
  std::int64_t save_every = 0;  ///< so many of these steps, and after the last; 0: after the last alone
  SaveKind save_kind = SaveKind::full;
  SaveMode save_mode = SaveMode::stop;
  bool disk_ceiling = false;      ///< saves and restores are held against files of the same bytes, in order
  double seconds = 5.0;           ///< budget of timed steps per case when `steps` and `budget` are absent
  std::optional<Seconds> budget;  ///< of the whole measurement, all cases together
  /// This is the JSON of each option before any was set (option_table.hpp).
  std::map<std::string, std::string, std::less<>> usual;

  /// Returns the gradients of the outputs. In exact mode the tables' values are multiples of what one gradient unit
  /// changes.
  GradientValues gradients() const { return {.seed = seed}; }
  RowValues row_values() const;
  /// Returns the most batches that are read, the checked ones included.
  std::int64_t most_batches() const;
  /// These are the steps of a case from its first weights on, for its loss and AUC, where trained_steps is absent: with
  /// rows that may be stale, and without.
  static constexpr std::int64_t trained_with_stale_rows = 128, trained_in_time = 32;
  /// Returns whether a case is trained: it has layers, or its steps are saved or follow a checkpoint.
  bool trains() const { return has_layers(dense.kind) || !save.empty() || !restore.empty(); }
  /// Returns the most steps that a case is trained for.
  std::int64_t most_trained_steps() const;
};

/// Returns the same options with every table stored so, if a storage is given.
RunOptions with_storage(RunOptions run, std::optional<Storage> storage);

/// Reads the cores that tables are to begin with; they then have the shape and ranks of these. Throws InputError where
/// a table has other rows, columns or, if given, other shapes or ranks.
void import_cores(Workload& workload);

/// Parses a duration. Throws InputError when the text is no duration above 0.
Seconds seconds_in(std::string_view text);

/// Throws InputError for the first option that nothing reads: ids where there is data, options of tt tables without
/// such tables, layers without a model that has some, a pipeline that no case has.
void require_use(const RunOptions& run, const std::vector<Case>& cases, const std::vector<GivenOption>& given);

/// Sets how many keys tables of any keys are expected to have, and most rows at a time: those that the generator can
/// name, or the capacity and the ids of a step. Throws InputError where neither is known.
void expect_keys(RunOptions& run);

/// Throws InputError for a capacity that does not fit the eviction of a table whose rows come and go, and for an
/// eviction by values that are not the same on all ranks.
void check_dynamic_tables(const RunOptions& run, const std::vector<Case>& cases);

/// Throws InputError naming the feature whose segments or segment rank cannot be (check_segments), or are of data.
void check_nested_ids(const RunOptions& run);

/// Throws InputError where the workload has no such dense model, or one that cannot be as the options select it.
void check_dense_options(const RunOptions& run);

/// Throws InputError where a case multiplies as this build cannot.
void check_dense_math(const std::vector<Case>& cases);

/// Throws InputError where an optimizer has numbers that its formula cannot take.
void check_optimizers(const RunOptions& run);

/// Returns whether the option matters to this job: an option of ids only where these are generated, an option of how a
/// data file is read only where there is one.
bool has_use(const Option& option, const RunOptions& run);

/// Sets options of the pipeline that do not matter to a case to their defaults; cases that are the same then are one.
std::vector<Case> without_unused_async(std::vector<Case> cases);

}  // namespace shardmark::workloads
