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

namespace shardmark::workloads {
namespace {

using datasets::SavedRange;

constexpr std::int64_t round_bytes = std::int64_t{4} << 20;
constexpr std::size_t kept_checkpoints = 2;

/// Cuts the shares of all ranks into rounds: of each rank its ranges, as many as of the rank with most; those of count
/// 0 are none.
std::vector<std::vector<SavedRange>> rounds_of(const std::vector<datasets::SavedArray>& arrays,
                                               const std::vector<std::vector<SavedRange>>& shares) {
  std::vector<std::vector<SavedRange>> by_rank;
  std::size_t most = 0;
  for (const auto& share : shares)
    most = std::max(most, by_rank.emplace_back(in_rounds(arrays, share, round_bytes)).size());
  std::vector<std::vector<SavedRange>> rounds(most);
  for (std::size_t r = 0; r < most; ++r)
    for (const auto& ranges : by_rank) rounds[r].push_back(r < ranges.size() ? ranges[r] : SavedRange{});
  return rounds;
}

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

/// Measures one save or restore from its begin on all ranks.
class CostsWatch {
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

std::int64_t bytes_of(const std::vector<datasets::SavedArray>& arrays) {
  std::int64_t bytes = 0;
  for (const datasets::SavedArray& array : arrays) bytes += array.rows * array.row_bytes();
  return bytes;
}

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

Checkpoints::Checkpoints(const comm::Communicator& comm, const RunOptions& options, const placement::Plan& plan,
                         std::function<void(const std::string&)> status)
    : comm_(comm), options_(options), plan_(plan), status_(std::move(status)) {
  if (options.fault == Fault::crash) before_ = killing_at(options.crash_at);
  if (options.save_kind == SaveKind::changes && !options.save.empty())
    touched_.emplace(options.workload.tables, options.workload.features);
}

SavedLayout Checkpoints::layout_of(const ShardedTables& tables, const DenseModel& dense) const {
  return {plan_, tables.tables(), tables.layout(), std::ssize(dense.parameters()), state_vectors()};
}

std::int64_t Checkpoints::state_vectors() const {
  return has_layers(options_.dense.kind) ? choice_of(options_.dense.optimizer).vectors : 0;
}

void Checkpoints::took(const StepInput& input) {
  if (touched_) touched_->add(input);
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
  return {bytes_of(layout.arrays), exchange.sent()};
}

void Checkpoints::save(ShardedTables& tables, DenseModel& dense) {
  const std::string folder = datasets::step_folder(options_.save, tables.steps());
  try {
    write(tables, dense, folder);
  } catch (const comm::Agreed&) {  // on all ranks, whose files beside their targets are gone
    comm::barrier(comm_);
    if (comm_.rank() == 0 && std::filesystem::exists(folder)) try {
        datasets::remove_checkpoint(folder);
      } catch (const InputError&) {  // what ended the save says more
      }
    throw;
  }
}

void Checkpoints::write(ShardedTables& tables, DenseModel& dense, const std::string& folder) {
  const CostsWatch watch(comm_);
  SavedLayout layout = comm::agree(comm_, [&] { return layout_of(tables, dense); });
  count_keys(comm_, tables, layout);
  std::vector<std::optional<std::vector<std::int64_t>>> all(layout.arrays.size());
  std::optional<datasets::SavedParent> parent;
  if (touched_ && parent_) {
    auto rows = touched_->rows(comm_, layout);
    list_keys(comm_, tables, layout, parent_->step, rows);
    SavedLayout changes = layout.of_rows(std::move(rows));
    if (const std::int64_t bytes = changed_bytes_ + bytes_of(changes.arrays); bytes < bytes_of(layout.arrays)) {
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
  const auto shares = block_shares(layout.arrays, comm_.size());
  datasets::Manifest manifest{.step = tables.steps(),
                              .parent = parent,
                              .run = run_facts(options_, plan_, tables.steps()),
                              .arrays = layout.arrays,
                              .parts = {},
                              .xxh64 = ""};
  std::vector<int> writers;
  for (int r = 0; r < comm_.size(); ++r) {
    if (shares[r].empty()) continue;
    writers.push_back(r);
    manifest.parts.push_back({fmt::format("{}{:05}.h5", datasets::part_prefix, r), 0, "", shares[r]});
  }
  const auto own_part = std::ranges::find(writers, comm_.rank()) - writers.begin();
  comm::agree(comm_, [&] {
    if (comm_.rank() != 0) return;
    datasets::remove_old_checkpoints(options_.save, kept_checkpoints);
    make_folder(folder);
  });
  std::optional<datasets::PartWriter> writer;
  comm::agree(comm_, [&] {
    if (own_part < std::ssize(writers)) writer.emplace(folder, manifest, manifest.parts[own_part], before_);
  });
  BlockExchange exchange(comm_, layout);
  const HeldRows held(tables, dense, state_vectors());
  const auto rounds = rounds_of(layout.arrays, shares);
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    if (status_) status_(fmt::format("saving step {}: {}", manifest.step, percent(r, rounds.size())));
    std::vector<RoundRows> ranges;
    for (const SavedRange& range : rounds[r]) ranges.push_back({range, layout.rows_of(range)});
    const datasets::SavedRows& rows = exchange.collect(ranges, held);
    comm::agree(comm_, [&] {
      if (rounds[r][comm_.rank()].count > 0) writer->write(rounds[r][comm_.rank()], rows);
    });
  }
  const datasets::SavedPart own = comm::agree(comm_, [&] { return writer ? writer->commit() : datasets::SavedPart{}; });
  const auto bytes = comm::all_gather(comm_, own.bytes);
  const auto checksums = comm::all_gather(comm_, own.xxh64);
  for (std::size_t p = 0; p < writers.size(); ++p) {
    manifest.parts[p].bytes = bytes[writers[p]];
    manifest.parts[p].xxh64 = checksums[writers[p]];
  }
  comm::agree(comm_, [&] {
    if (comm_.rank() != 0) return;
    datasets::write_index(folder, manifest, before_);
    manifest.xxh64 = datasets::write_manifest(folder, manifest, before_);
    datasets::remove_old_checkpoints(options_.save, kept_checkpoints);
  });
  comm::broadcast(comm_, manifest.xxh64, 0);
  if (touched_) {
    touched_->clear();
    for_each_keyed_shard(tables, [](std::int64_t shard, Store& store) { store.note_evicted(shard); });
    parent_ = datasets::SavedParent{manifest.step, manifest.xxh64};
  }
  const CheckpointCosts costs = watch.end(bytes_of(layout.arrays), exchange.sent());
  if (!status_) return saved_.add(costs);
  status_("");
  if (comm_.rank() == 0)
    fmt::print(stderr, "checkpoint: {} ({:.2f} s, {:.2f} GB/s)\n", folder, costs.seconds,
               1e-9 * static_cast<double>(costs.bytes) / costs.seconds);
  saved_.add(costs);
}

}  // namespace shardmark::workloads
