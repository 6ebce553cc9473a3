// SPDX-License-Identifier: Apache-2.0
#include "workloads/checkpoint/checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
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
  const auto rounds = rounds_of(layout.arrays, block_shares(layout.arrays, comm_.size()));
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    status_(fmt::format("restoring step {}: {}", manifest.step, percent(r, rounds.size())));
    const SavedRange& own = rounds[r][comm_.rank()];
    std::vector<std::int64_t> listed;
    comm::agree(comm_, [&] {
      if (own.count > 0) reader.read(own, rows);
      if (manifest.parent && own.count > 0) listed = row_numbers(layout.arrays[own.array].fields.front(), rows.front());
    });
    comm::Gathered<std::int64_t> lists;
    if (manifest.parent) lists = comm::all_gather(comm_, std::span<const std::int64_t>(listed));
    std::vector<RoundRows> ranges;
    for (int rank = 0; rank < comm_.size(); ++rank)
      ranges.push_back({rounds[r][rank], manifest.parent ? lists.of(rank) : std::span<const std::int64_t>()});
    exchange.spread(ranges, rows, held);
  }
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
  const std::int64_t bytes_of_all = bytes_of(layout.arrays);
  std::optional<datasets::SavedParent> parent;
  if (touched_ && parent_) {
    SavedLayout changes = layout.of_rows(touched_->rows(comm_, layout));
    if (const std::int64_t bytes = changed_bytes_ + bytes_of(changes.arrays); bytes < bytes_of_all) {
      changed_bytes_ = bytes;
      parent = parent_;
      layout = std::move(changes);
    }
  }
  if (!parent) changed_bytes_ = 0;
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
    status_(fmt::format("saving step {}: {}", manifest.step, percent(r, rounds.size())));
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
    parent_ = datasets::SavedParent{manifest.step, manifest.xxh64};
  }
  const CheckpointCosts costs = watch.end(bytes_of(layout.arrays), exchange.sent());
  status_("");
  if (comm_.rank() == 0)
    fmt::print(stderr, "checkpoint: {} ({:.2f} s, {:.2f} GB/s)\n", folder, costs.seconds,
               1e-9 * static_cast<double>(costs.bytes) / costs.seconds);
  saved_.add(costs);
}

}  // namespace shardmark::workloads
