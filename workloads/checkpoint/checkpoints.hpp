// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "comm/communicator.hpp"
#include "datasets/checkpoint/parts.hpp"
#include "workloads/cases/options.hpp"
#include "workloads/checkpoint/disk_ceiling.hpp"
#include "workloads/checkpoint/pacing.hpp"
#include "workloads/checkpoint/row_pieces.hpp"
#include "workloads/checkpoint/touched_rows.hpp"
#include "workloads/step/dense/dense_model.hpp"
#include "workloads/tables/sharded_tables.hpp"

namespace shardmark::workloads {

/// Holds what checkpoints of a run took, over all ranks.
struct CheckpointCosts {
  std::int64_t times = 0;
  double seconds = 0.0;       ///< of the slowest rank, its waiting for others and for the disk included
  double waited = 0.0;        ///< seconds of these in which steps waited: all, or less of saves behind them
  double longest = 0.0;       ///< seconds for which steps waited at one time
  double ended = 0.0;         ///< seconds in which the end of the run waited for a save behind it
  StepTimes behind = {};      ///< of steps while saves went on, with what these took from them
  StepTimes between = {};     ///< of the other steps but the first
  std::int64_t bytes = 0;     ///< of rows
  std::int64_t sent = 0;      ///< bytes from rank to rank, for rows to come into the order of blocks, or out of it
  FileTraffic ceiling = {};   ///< of files of the same bytes, where the options ask for it
  double cached_share = 0.0;  ///< then of restores: of the bytes of their files that were in memory all the same

  void add(const CheckpointCosts& more) {
    times += more.times;
    seconds += more.seconds;
    waited += more.waited;
    longest = std::max(longest, more.longest);
    ended += more.ended;
    bytes += more.bytes;
    sent += more.sent;
  }
  /// Returns 10^9 bytes by the seconds in which nothing else was done.
  double gb_per_s() const { return 1e-9 * static_cast<double>(bytes) / (waited + ended); }
};

/// Saves the tables and the dense model of a case, and restores them, on any number of ranks under any plan that can
/// keep the tables as they are stored. Rows travel into blocks in their order (datasets/checkpoint), of which each rank
/// writes or reads a share. All functions are collective, and throw alike on all ranks.
class Checkpoints {
 public:
  /// options: of the plan, with the folders to save to and restore from. All but `status` outlive the object; without
  /// one, nothing is printed either.
  Checkpoints(const comm::Communicator& comm, const RunOptions& options, const placement::Plan& plan,
              std::function<void(const std::string&)> status);
  ~Checkpoints();

  /// Reads the checkpoint that options.restore names, and returns how many steps had been taken. The next step is, bit
  /// for bit where sums are exact, the one that would have followed there. Throws InputError naming file, table and
  /// rows where it cannot be read or is of another model.
  /// Where the options ask for it, its files come from the disk, and are read in order right behind it.
  std::int64_t restore(ShardedTables& tables, DenseModel& dense);

  /// Takes note of the rows that a step on this input may have changed, where only such are saved (SaveKind::changes),
  /// and goes on with a save behind the steps (SaveMode::behind). Call it after each step that follows restore(), or
  /// the filling of the tables.
  void took(const StepInput& input);

  /// Saves into a folder of its own in options.save; with SaveKind::changes the first time all rows, then those that
  /// were touched since the checkpoint before, until these have more bytes together than all rows. Whatever ends it,
  /// what was saved before stays whole; afterwards the checkpoint before is kept, and none that is older. Throws
  /// InputError where the folder cannot be written. With SaveMode::behind it returns when the rows are kept as they are
  /// (ShardedTables::keep_rows): steps go on, and a share of their time carries the rows away (Pacing), until another
  /// save() comes, or finish(), which wait for the rest. Where the options ask for it, each save that steps waited for
  /// is held against files of its bytes, and of those behind steps the last.
  void save(ShardedTables& tables, DenseModel& dense);
  void finish();

  const CheckpointCosts& saved() const { return saved_; }
  const CheckpointCosts& restored() const { return restored_; }

 private:
  SavedLayout layout_of(const ShardedTables& tables, const DenseModel& dense) const;
  std::int64_t state_vectors() const;  ///< of the dense model
  // A save: its begin, at which rows and keys are kept as they are; lists of keys, which say what arrays it has; rounds
  // of rows; the end of its files, and when these are on the disk its manifest. Then it is accounted for.
  void begin(DenseModel& dense);
  void list_keys();
  void lay_out();
  void go_on_by_part();
  bool waits_for_threads() const;
  void account();
  /// Writes files of as many bytes as the latest save had, where the options ask for it.
  void measure_ceiling();
  /// Does some of a save behind the steps, as much as there is time for; and all that is left.
  void go_on();
  void complete(Waiting waiting);
  /// Does some of a save; where that fails on all ranks, what was written of it is removed.
  template <class Work>
  void saving(Waiting waiting, const Work& work);
  /// Restores the rows that one checkpoint has; returns their bytes and those that this rank sent.
  std::pair<std::int64_t, std::int64_t> restore_one(const datasets::CheckpointReader& reader, const SavedLayout& all,
                                                    HeldRows& held) const;

  const comm::Communicator& comm_;
  const RunOptions& options_;
  const placement::Plan& plan_;
  std::function<void(const std::string&)> status_;
  FileSteps before_;  ///< kills the job where the options ask for it
  class CostsWatch;
  struct Begun;
  std::unique_ptr<Begun> begun_;                 ///< the save that is not whole yet
  std::optional<TouchedRows> touched_;           ///< where rows that were touched are saved
  std::optional<datasets::SavedParent> parent_;  ///< the latest checkpoint that was saved here
  std::int64_t changed_bytes_ = 0;               ///< of the checkpoints since the one with all rows
  std::future<void> removal_;                    ///< of older checkpoints: large files take as long as several steps
  CheckpointCosts saved_, restored_;
  std::int64_t part_bytes_ = 0;  ///< of this rank in the latest save
  double took_at_ = 0.0;         ///< when the latest step, or the begin of a save behind it, had ended
};

}  // namespace shardmark::workloads
