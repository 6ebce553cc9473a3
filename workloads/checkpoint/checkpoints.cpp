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
#include "workloads/checkpoint/run_facts.hpp"
#include "workloads/checkpoint/saving.hpp"

namespace shardmark::workloads {
namespace {

using datasets::SavedRange;

constexpr std::size_t kept_checkpoints = 2;

/// This is the share of the time of steps that a save behind them may take from them.
constexpr double share_behind = 0.1;

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

std::string percent(std::size_t done, std::size_t all) { return fmt::format("{} %", 100 * done / all); }

/// Calls visit(shard number, store) for the shards of this rank whose rows come and go.
template <class Visit>
void for_each_keyed_shard(const ShardedTables& tables, const Visit& visit) {
  const ShardLayout& layout = tables.layout();
  for (std::int64_t s = 0; s < std::ssize(layout.shards); ++s)
    if (storage_of(tables.tables()[layout.shards[s].table]).comes_and_goes) visit(s, tables.store_of(s));
}

/// Calls visit(cells, store) for the shards of this rank that give what lies beside columns of an array of keys.
template <class Visit>
void for_each_first_holder(const ShardedTables& tables, const ArrayLayout& layout, const Visit& visit) {
  for (const HeldCells& cells : layout.holders)
    if (cells.rank == tables.layout().rank && !cells.repeats) visit(cells, tables.store_of(cells.shard));
}

/// Sets how many rows each array has whose rows come and go. Collective.
void count_keys(const comm::Communicator& comm, const ShardedTables& tables, SavedLayout& layout) {
  std::vector<std::int64_t> counts(layout.arrays.size());
  for (std::size_t a = 0; a < counts.size(); ++a)
    if (const auto part = layout.layouts[a].keyed)
      for_each_first_holder(tables, layout.layouts[a], [&](const HeldCells& cells, const Store& store) {
        counts[a] += store.saved_count(cells.shard, *part);
      });
  comm::all_reduce(comm, std::span(counts), comm::Reduce::sum);
  for (std::size_t a = 0; a < counts.size(); ++a)
    if (layout.layouts[a].keyed) layout.arrays[a].rows = counts[a];
}

/// Lists the keys of all ranks that have changed after a step, by array whose rows come and go. Collective.
void list_keys(const comm::Communicator& comm, const ShardedTables& tables, const SavedLayout& layout,
               std::int64_t since, std::vector<std::optional<std::vector<std::int64_t>>>& rows) {
  for (std::size_t a = 0; a < rows.size(); ++a) {
    const auto part = layout.layouts[a].keyed;
    if (!part) continue;
    std::vector<std::int64_t> own, ends{0};
    for_each_first_holder(tables, layout.layouts[a], [&](const HeldCells& cells, const Store& store) {
      const auto keys = store.saved_keys(cells.shard, *part, since);
      own.insert(own.end(), keys.begin(), keys.end());
      ends.push_back(std::ssize(own));
    });
    merge_distinct(own, std::move(ends));
    auto all = comm::all_gather(comm, std::span<const std::int64_t>(own));
    merge_distinct(all.values, std::move(all.offsets));
    rows[a] = std::move(all.values);
  }
}

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

/// Is a save that has begun.
struct Checkpoints::Begun {
  CostsWatch watch;
  ShardedTables& tables;
  std::string folder;
  std::optional<Saving> saving = {};
  double waited = 0.0;    ///< seconds in which steps waited for it, until they went on last
  double longest = 0.0;   ///< of the times that they waited
  double entered = 0.0;   ///< when they began to wait
  double credit = 0.0;    ///< seconds that it may take next; rank 0 decides
  double of_round = 0.0;  ///< seconds of the latest round
  double left_at = 0.0;   ///< when the calling steps went on
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
  if (begun_) go_on();
}

std::int64_t Checkpoints::restore(ShardedTables& tables, DenseModel& dense) {
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
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    if (status_) status_(fmt::format("restoring step {}: {}", manifest.step, percent(r, rounds.size())));
    const SavedRange& own = rounds[r][comm_.rank()];
    std::vector<std::int64_t> listed;
    comm::agree(comm_, [&] {
      held.require_room();
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
void Checkpoints::saving(const Work& work) {
  begun_->entered = MPI_Wtime();
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
  if (!begun_) return;
  begun_->left_at = MPI_Wtime();
  begun_->waited += begun_->left_at - begun_->entered;
  begun_->longest = std::max(begun_->longest, begun_->left_at - begun_->entered);
}

void Checkpoints::save(ShardedTables& tables, DenseModel& dense) {
  finish();
  begun_.reset(new Begun{CostsWatch(comm_), tables, datasets::step_folder(options_.save, tables.steps())});
  saving([&] { begin(tables, dense); });
  if (options_.save_mode == SaveMode::stop) finish();
}

void Checkpoints::begin(ShardedTables& tables, DenseModel& dense) {
  SavedLayout layout = comm::agree(comm_, [&] { return layout_of(tables, dense); });
  count_keys(comm_, tables, layout);
  std::vector<std::optional<std::vector<std::int64_t>>> all(layout.arrays.size());
  std::optional<datasets::SavedParent> parent;
  if (touched_ && parent_) {
    auto rows = touched_->rows(comm_, layout);
    list_keys(comm_, tables, layout, parent_->step, rows);
    SavedLayout changes = layout.of_rows(std::move(rows));
    if (const std::int64_t bytes = changed_bytes_ + datasets::bytes_of(changes.arrays);
        bytes < datasets::bytes_of(layout.arrays)) {
      changed_bytes_ = bytes;
      parent = parent_;
      layout = std::move(changes);
    }
  }
  if (!parent) {
    changed_bytes_ = 0;
    list_keys(comm_, tables, layout, 0, all);
    layout = layout.of_rows(std::move(all));
  }
  if (touched_) touched_->clear();
  comm::agree(comm_, [&] {
    if (options_.save_mode == SaveMode::behind) tables.keep_rows();
    if (comm_.rank() == 0) datasets::remove_old_checkpoints(options_.save, kept_checkpoints);
  });
  datasets::Manifest manifest{.step = tables.steps(),
                              .parent = parent,
                              .run = run_facts(options_, plan_, tables.steps()),
                              .arrays = {},
                              .parts = {},
                              .xxh64 = ""};
  begun_->saving.emplace(comm_, begun_->folder, std::move(manifest), std::move(layout),
                         HeldRows(tables, dense, state_vectors()), before_);
}

void Checkpoints::round() {
  Saving& saving = *begun_->saving;
  if (status_)
    status_(fmt::format("saving step {}: {}", saving.step(), percent(saving.rounds_done(), saving.rounds())));
  const double begin = MPI_Wtime();
  saving.round();
  begun_->of_round = MPI_Wtime() - begin;
  begun_->credit -= begun_->of_round;
}

void Checkpoints::close() {
  begun_->saving->close();
  begun_->tables.let_go();
}

void Checkpoints::go_on() {
  Saving& all = *begun_->saving;
  begun_->credit += share_behind * (MPI_Wtime() - begun_->left_at);
  saving([&] {
    if (all.rounds_done() < all.rounds()) {
      const double affordable = begun_->of_round > 0.0 ? begun_->credit / begun_->of_round : 1.0;
      auto rounds = comm_.rank() == 0 ? static_cast<std::int64_t>(std::max(affordable, 0.0)) : 0;
      rounds = comm::all_reduce(comm_, rounds, comm::Reduce::max);
      for (; rounds > 0 && all.rounds_done() < all.rounds(); --rounds) round();
    } else if (!all.is_closed()) {
      close();
    } else if (all.on_disk()) {
      complete();
    }
  });
}

void Checkpoints::finish() {
  if (!begun_) return;
  Saving& all = *begun_->saving;
  saving([&] {
    while (all.rounds_done() < all.rounds()) round();
    if (!all.is_closed()) close();
    complete();
  });
}

void Checkpoints::complete() {
  Saving& saving = *begun_->saving;
  const std::string checksum = saving.whole();
  comm::agree(comm_, [&] {
    if (comm_.rank() == 0) datasets::remove_old_checkpoints(options_.save, kept_checkpoints);
  });
  if (touched_) {
    for_each_keyed_shard(begun_->tables, [](std::int64_t shard, Store& store) { store.note_evicted(shard); });
    parent_ = datasets::SavedParent{saving.step(), checksum};
  }
  CheckpointCosts costs = begun_->watch.end(saving.bytes(), saving.sent());
  const double now = MPI_Wtime() - begun_->entered;
  costs.waited = comm::all_reduce(comm_, begun_->waited + now, comm::Reduce::max);
  costs.longest = options_.save_mode == SaveMode::stop
                      ? costs.waited
                      : comm::all_reduce(comm_, std::max(begun_->longest, now), comm::Reduce::max);
  saved_.add(costs);
  if (status_) {
    status_("");
    if (comm_.rank() == 0)
      fmt::print(stderr, "checkpoint: {} ({:.2f} s, {:.2f} GB/s)\n", begun_->folder, costs.seconds,
                 1e-9 * static_cast<double>(costs.bytes) / costs.seconds);
  }
  begun_.reset();
}

}  // namespace shardmark::workloads
