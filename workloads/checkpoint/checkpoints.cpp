// SPDX-License-Identifier: Apache-2.0
#include "workloads/checkpoint/checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "reference/sort_distinct.hpp"
#include "reference/storage.hpp"
#include "workloads/checkpoint/key_lists.hpp"
#include "workloads/checkpoint/run_facts.hpp"
#include "workloads/checkpoint/saving.hpp"

namespace shardmark::workloads {
namespace {

using datasets::SavedRange;

constexpr std::size_t kept_checkpoints = 2;
constexpr std::size_t rounds_ahead = 4;  ///< that are read from the disk while one is brought to where its rows belong

/// Returns the rounds of a restore. Keys that leave come before others, for which they make room.
std::vector<std::vector<SavedRange>> restored_rounds(const SavedLayout& layout, int ranks) {
  const auto shares = block_shares(layout.arrays, ranks);
  std::vector<std::vector<SavedRange>> rounds;
  for (const bool leaving : {true, false}) {
    auto some = shares;
    for (auto& share : some)
      std::erase_if(share, [&](const SavedRange& range) {
        const auto part = layout.layouts[range.array].keyed;
        return leaving != (part == SavedKeys::evicted || part == SavedKeys::counts);
      });
    const auto more = rounds_of(layout.arrays, some);
    rounds.insert(rounds.end(), more.begin(), more.end());
  }
  return rounds;
}

/// Counts writes, syncs and renames of this rank, and kills it before number `at`.
FileSteps killing_at(std::int64_t at) {
  return [left = std::make_shared<std::int64_t>(at)](std::string_view) {
    if (--*left == 0) std::raise(SIGKILL);
  };
}

/// Returns the files that a restore reads, but for manifests.
std::vector<std::string> files_of(const std::string& restored) {
  std::vector<std::string> files;
  for (const std::string& folder : datasets::chain_of(restored))
    for (const datasets::SavedPart& part : datasets::read_manifest(folder).parts)
      files.push_back((std::filesystem::path(folder) / part.file).string());
  return files;
}

std::string percent(std::size_t done, std::size_t all) { return fmt::format("{} %", 100 * done / all); }

}  // namespace

/// Measures one save or restore from its begin on all ranks.
class Checkpoints::CostsWatch {
 public:
  explicit CostsWatch(const comm::Communicator& comm) : comm_(comm) {
    comm::barrier(comm);
    begin_ = MPI_Wtime();
  }
  CheckpointCosts end(std::int64_t bytes, std::int64_t sent) const {
    return {.times = 1,
            .seconds = comm::all_reduce(comm_, MPI_Wtime() - begin_, comm::Reduce::max),
            .bytes = bytes,
            .sent = comm::all_reduce(comm_, sent, comm::Reduce::sum)};
  }

 private:
  const comm::Communicator& comm_;
  double begin_ = 0.0;
};

/// Is a save that has begun. Its rows are those of the step at which it did.
struct Checkpoints::Begun {
  CostsWatch watch;
  ShardedTables& tables;
  std::string folder;
  Pacing pacing = {};
  SavedLayout all = {};                              ///< of all rows
  std::optional<datasets::SavedParent> parent = {};  ///< where it may have changes alone
  ListedRows touched = {};                           ///< then, of arrays whose rows do not come and go
  datasets::Manifest manifest = {};
  std::optional<HeldRows> held = {};
  std::optional<KeyLists> keys = {};
  std::optional<Saving> saving = {};  ///< when it is known which rows it has
  bool whole = false;
};

Checkpoints::Checkpoints(const comm::Communicator& comm, const RunOptions& options, const placement::Plan& plan,
                         std::function<void(const std::string&)> status)
    : comm_(comm), options_(options), plan_(plan), status_(std::move(status)) {
  if (options.fault == Fault::crash) before_ = killing_at(options.crash_at);
  if (options.save_kind == SaveKind::changes && !options.save.empty())
    touched_.emplace(options.workload.tables, options.workload.features);
}

Checkpoints::~Checkpoints() = default;

SavedLayout Checkpoints::layout_of(const ShardedTables& tables, const DenseModel& dense) const {
  return {plan_, tables.tables(), tables.layout(), std::ssize(dense.parameters()), state_vectors()};
}

std::int64_t Checkpoints::state_vectors() const {
  return has_layers(options_.dense.kind) ? choice_of(options_.dense.optimizer).vectors : 0;
}

void Checkpoints::took(const StepInput& input) {
  if (touched_) touched_->add(input);
  StepTimes& of_steps = begun_ ? saved_.behind : saved_.between;
  if (begun_) go_on();
  const double now = MPI_Wtime();
  if (took_at_ > 0.0) of_steps.add(now - took_at_);
  took_at_ = now;
}

std::int64_t Checkpoints::restore(ShardedTables& tables, DenseModel& dense) {
  std::vector<std::string> files;
  double cached = 0.0;
  if (options_.disk_ceiling) {
    files = comm::agree(comm_, [&] { return files_of(options_.restore); });
    drop_cached(comm_, files);
    cached = cached_share(comm_, files);
  }
  const CostsWatch watch(comm_);
  const SavedLayout layout = layout_of(tables, dense);
  const auto readers = comm::agree(comm_, [&] {
    std::vector<std::unique_ptr<datasets::CheckpointReader>> chain;
    for (const std::string& folder : datasets::chain_of(options_.restore)) {
      chain.push_back(std::make_unique<datasets::CheckpointReader>(folder));
      const datasets::Manifest& manifest = chain.back()->manifest();
      require_same_run(manifest.run, run_facts(options_, plan_, manifest.step), folder);
    }
    return chain;
  });
  for_each_keyed_shard(tables, [](std::int64_t shard, Store& store) { store.forget_keys(shard); });
  HeldRows held(tables, dense, state_vectors());
  CheckpointCosts costs;
  for (const auto& reader : readers) {
    const auto [bytes, sent] = restore_one(*reader, layout, held);
    costs.bytes += bytes;
    costs.sent += sent;
  }
  const datasets::Manifest& latest = readers.back()->manifest();
  held.complete(latest.step);
  tables.resume({.number = latest.step, .seed = options_.row_values().seed});
  restored_.add(watch.end(costs.bytes, costs.sent));
  restored_.waited = restored_.seconds;
  if (options_.disk_ceiling) {
    drop_cached(comm_, files);
    restored_.ceiling = read_in_order(comm_, files);
    restored_.cached_share = cached;
  }
  return latest.step;
}

std::pair<std::int64_t, std::int64_t> Checkpoints::restore_one(const datasets::CheckpointReader& reader,
                                                               const SavedLayout& all, HeldRows& held) const {
  const datasets::Manifest& manifest = reader.manifest();
  const SavedLayout layout = comm::agree(comm_, [&] { return all.of_arrays(manifest, reader.folder()); });
  BlockExchange exchange(comm_, layout);
  datasets::SavedRows rows;
  const bool lists_rows = std::ranges::any_of(layout.arrays, &datasets::SavedArray::is_numbered);
  const auto rounds = restored_rounds(layout, comm_.size());
  std::size_t begun = 0;
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    if (status_) status_(fmt::format("restoring step {}: {}", manifest.step, percent(r, rounds.size())));
    const SavedRange& own = rounds[r][comm_.rank()];
    std::vector<std::int64_t> listed;
    comm::agree(comm_, [&] {
      held.require_room();
      for (; begun < std::min(r + 1 + rounds_ahead, rounds.size()); ++begun)
        if (const SavedRange& later = rounds[begun][comm_.rank()]; later.count > 0) reader.begin_read(later);
      if (own.count == 0) return;
      reader.read(own, rows);
      const datasets::SavedArray& array = layout.arrays[own.array];
      if (array.is_numbered()) listed = row_numbers(array.fields.front(), rows.front());
    });
    comm::Gathered<std::int64_t> lists;
    if (lists_rows) lists = comm::all_gather(comm_, std::span<const std::int64_t>(listed));
    std::vector<RoundRows> ranges;
    for (int rank = 0; rank < comm_.size(); ++rank)
      ranges.push_back({rounds[r][rank], lists_rows ? lists.of(rank) : std::span<const std::int64_t>()});
    exchange.spread(ranges, rows, held);
  }
  comm::agree(comm_, [&] { held.require_room(); });
  return {datasets::bytes_of(layout.arrays), exchange.sent()};
}

template <class Work>
void Checkpoints::saving(Waiting waiting, const Work& work) {
  begun_->pacing.enter();
  try {
    work();
  } catch (const comm::Agreed&) {  // on all ranks, whose files beside their targets are gone
    const std::string folder = begun_->folder;
    begun_.reset();
    comm::barrier(comm_);
    if (comm_.rank() == 0 && std::filesystem::exists(folder)) try {
        datasets::remove_checkpoint(folder);
      } catch (const InputError&) {  // what ended the save says more
      }
    throw;
  }
  begun_->pacing.leave(waiting);
  if (begun_->whole) account();
}

void Checkpoints::save(ShardedTables& tables, DenseModel& dense) {
  complete(Waiting::steps);
  begun_.reset(new Begun{CostsWatch(comm_), tables, datasets::step_folder(options_.save, tables.steps())});
  saving(Waiting::steps, [&] {
    begin(dense);
    while (options_.save_mode == SaveMode::stop && !begun_->whole) go_on_by_part();
  });
  if (options_.save_mode == SaveMode::stop) measure_ceiling();
  took_at_ = MPI_Wtime();
}

void Checkpoints::begin(DenseModel& dense) {
  Begun& save = *begun_;
  comm::agree(comm_, [&] {
    save.all = layout_of(save.tables, dense);
    for_each_keyed_shard(save.tables, [](std::int64_t shard, Store& store) { store.keep_keys(shard); });
  });
  count_keys(comm_, save.tables, save.all);
  if (touched_ && parent_) {
    save.parent = parent_;
    save.touched = touched_->rows(comm_, save.all);
  }
  comm::agree(comm_, [&] {
    if (touched_) {
      touched_->clear();
      for_each_keyed_shard(save.tables, [](std::int64_t shard, Store& store) { store.note_evicted(shard); });
    }
    if (options_.save_mode == SaveMode::behind) save.tables.keep_rows();
    save.held.emplace(save.tables, dense, state_vectors());
    if (removal_.valid()) removal_.get();
    if (comm_.rank() == 0) datasets::remove_old_checkpoints(options_.save, kept_checkpoints);
  });
  save.manifest.step = save.tables.steps();
  save.manifest.run = run_facts(options_, plan_, save.tables.steps());
  list_keys();
}

void Checkpoints::list_keys() {
  Begun& save = *begun_;
  save.keys.emplace(comm_, save.tables, save.all, save.parent ? save.parent->step : 0);
  if (save.keys->are_whole()) lay_out();
}

void Checkpoints::lay_out() {
  Begun& save = *begun_;
  ListedRows rows = save.keys->take();
  for (std::size_t a = 0; save.parent && a < rows.size(); ++a)
    if (save.touched[a]) rows[a] = std::move(save.touched[a]);
  SavedLayout layout = save.all.of_rows(std::move(rows));
  const std::int64_t changed = save.parent ? changed_bytes_ + datasets::bytes_of(layout.arrays) : 0;
  if (save.parent && changed >= datasets::bytes_of(save.all.arrays)) {
    save.parent.reset();
    return list_keys();
  }
  changed_bytes_ = changed;
  save.manifest.parent = save.parent;
  save.saving.emplace(comm_, save.folder, std::move(save.manifest), std::move(layout), std::move(*save.held), before_);
}

bool Checkpoints::waits_for_threads() const {
  const Begun& save = *begun_;
  return save.saving ? save.saving->is_closed() && !save.saving->on_disk() : save.keys->wait();
}

void Checkpoints::go_on_by_part() {
  Begun& save = *begun_;
  const double begin = MPI_Wtime();
  if (!save.saving) {
    save.keys->go_on();
    if (save.keys->are_whole()) lay_out();
  } else if (Saving& saving = *save.saving; saving.rounds_done() < saving.rounds()) {
    if (status_)
      status_(fmt::format("saving step {}: {}", saving.step(), percent(saving.rounds_done(), saving.rounds())));
    saving.round();
  } else if (!saving.is_closed()) {
    saving.close();
    save.tables.let_go();
  } else {
    const std::string checksum = saving.whole();
    comm::agree(comm_, [&] {
      if (comm_.rank() == 0)
        removal_ = std::async(std::launch::async, datasets::remove_old_checkpoints, options_.save, kept_checkpoints);
    });
    if (touched_) parent_ = datasets::SavedParent{saving.step(), checksum};
    save.whole = true;
  }
  save.pacing.did(MPI_Wtime() - begin);
}

void Checkpoints::go_on() {
  saving(Waiting::steps, [&] {
    Begun& save = *begun_;
    if (waits_for_threads()) return save.pacing.rest();
    while (!save.whole && !waits_for_threads() && save.pacing.goes_on(comm_)) go_on_by_part();
  });
}

void Checkpoints::complete(Waiting waiting) {
  if (!begun_) return;
  saving(waiting, [&] {
    while (!begun_->whole) go_on_by_part();
  });
}

void Checkpoints::finish() {
  complete(Waiting::end);
  if (options_.save_mode == SaveMode::behind) measure_ceiling();
  comm::agree(comm_, [&] {
    if (removal_.valid()) removal_.get();
  });
}

void Checkpoints::account() {
  const Saving& saving = *begun_->saving;
  const Pacing& pacing = begun_->pacing;
  CheckpointCosts costs = begun_->watch.end(saving.bytes(), saving.sent());
  costs.waited = comm::all_reduce(comm_, pacing.waited(), comm::Reduce::max);
  costs.longest = comm::all_reduce(comm_, pacing.longest(), comm::Reduce::max);
  costs.ended = comm::all_reduce(comm_, pacing.ended(), comm::Reduce::max);
  saved_.add(costs);
  part_bytes_ = saving.part_bytes();
  if (status_) {
    status_("");
    if (comm_.rank() == 0)
      fmt::print(stderr, "checkpoint: {} ({:.2f} s, {:.2f} GB/s)\n", begun_->folder, costs.seconds, costs.gb_per_s());
  }
  begun_.reset();
}

void Checkpoints::measure_ceiling() {
  if (options_.disk_ceiling && saved_.times > 0) saved_.ceiling.add(write_in_order(comm_, options_.save, part_bytes_));
}

}  // namespace shardmark::workloads
