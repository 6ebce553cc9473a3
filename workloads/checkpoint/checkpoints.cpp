// SPDX-License-Identifier: Apache-2.0
#include "workloads/checkpoint/checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "datasets/checkpoint/parts.hpp"
#include "workloads/checkpoint/row_pieces.hpp"
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
}

SavedLayout Checkpoints::layout_of(const ShardedTables& tables, const DenseModel& dense) const {
  return {plan_, tables.tables(), tables.layout(), std::ssize(dense.parameters()),
          dense.parameters().empty() ? 0 : choice_of(options_.dense.optimizer).vectors};
}

std::int64_t Checkpoints::restore(ShardedTables& tables, DenseModel& dense) {
  const CostsWatch watch(comm_);
  const SavedLayout layout = layout_of(tables, dense);
  const auto reader = comm::agree(comm_, [&] {
    auto opened = std::make_unique<datasets::CheckpointReader>(options_.restore);
    const datasets::Manifest& manifest = opened->manifest();
    require_same_run(manifest.run, run_facts(options_, plan_, manifest.step), opened->folder());
    if (manifest.arrays != layout.arrays)
      throw InputError(fmt::format("{}: its arrays are not those of this model; restore another", opened->folder()));
    return opened;
  });
  const std::int64_t step = reader->manifest().step;
  BlockExchange exchange(comm_, layout);
  HeldRows held(tables, dense, layout);
  const auto rounds = rounds_of(layout.arrays, block_shares(layout.arrays, comm_.size()));
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    status_(fmt::format("restoring step {}: {}", step, percent(r, rounds.size())));
    const SavedRange& own = rounds[r][comm_.rank()];
    const auto rows = comm::agree(comm_, [&] { return own.count > 0 ? reader->read(own) : datasets::SavedRows{}; });
    exchange.spread(rounds[r], rows, held);
  }
  held.complete(step);
  tables.resume({.number = step, .seed = options_.row_values().seed});
  restored_.add(watch.end(bytes_of(layout.arrays), exchange.sent()));
  return step;
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
  const SavedLayout layout = comm::agree(comm_, [&] { return layout_of(tables, dense); });
  const auto shares = block_shares(layout.arrays, comm_.size());
  datasets::Manifest manifest{.step = tables.steps(),
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
  const HeldRows held(tables, dense, layout);
  const auto rounds = rounds_of(layout.arrays, shares);
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    status_(fmt::format("saving step {}: {}", manifest.step, percent(r, rounds.size())));
    const auto rows = exchange.collect(rounds[r], held);
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
    datasets::write_manifest(folder, manifest, before_);
    datasets::remove_old_checkpoints(options_.save, kept_checkpoints);
  });
  const CheckpointCosts costs = watch.end(bytes_of(layout.arrays), exchange.sent());
  status_("");
  if (comm_.rank() == 0)
    fmt::print(stderr, "checkpoint: {} ({:.2f} s, {:.2f} GB/s)\n", folder, costs.seconds,
               1e-9 * static_cast<double>(costs.bytes) / costs.seconds);
  saved_.add(costs);
}

}  // namespace shardmark::workloads
