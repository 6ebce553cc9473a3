// SPDX-License-Identifier: Apache-2.0
#include "workloads/checkpoint/saving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"

namespace shardmark::workloads {
namespace {

using datasets::SavedRange;

constexpr std::int64_t round_bytes = std::int64_t{4} << 20;

}  // namespace

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

Saving::Saving(const comm::Communicator& comm, std::string folder, datasets::Manifest manifest, SavedLayout layout,
               HeldRows held, FileSteps before)
    : comm_(comm),
      folder_(std::move(folder)),
      manifest_(std::move(manifest)),
      layout_(std::move(layout)),
      held_(std::move(held)),
      before_(std::move(before)),
      exchange_(comm, layout_) {
  manifest_.arrays = layout_.arrays;
  const auto shares = block_shares(layout_.arrays, comm_.size());
  for (int r = 0; r < comm_.size(); ++r) {
    if (shares[r].empty()) continue;
    writers_.push_back(r);
    manifest_.parts.push_back({fmt::format("{}{:05}.h5", datasets::part_prefix, r), 0, "", shares[r]});
  }
  rounds_ = rounds_of(layout_.arrays, shares);
  comm::agree(comm_, [&] {
    if (comm_.rank() == 0) make_folder(folder_);
  });
  comm::agree(comm_, [&] {
    const auto own = std::ranges::find(writers_, comm_.rank()) - writers_.begin();
    if (own < std::ssize(writers_)) writer_.emplace(folder_, manifest_, manifest_.parts[own], before_);
  });
}

Saving::~Saving() {
  if (disk_.joinable()) disk_.join();
}

void Saving::round() {
  const std::vector<SavedRange>& of_ranks = rounds_[done_++];
  std::vector<RoundRows> ranges;
  for (const SavedRange& range : of_ranks) ranges.push_back({range, layout_.rows_of(range)});
  const datasets::SavedRows& rows = exchange_.collect(ranges, held_);
  comm::agree(comm_, [&] {
    if (of_ranks[comm_.rank()].count > 0) writer_->write(of_ranks[comm_.rank()], rows);
  });
}

void Saving::close() {
  comm::agree(comm_, [&] {
    if (writer_) own_ = writer_->close();
    disk_ = std::thread([this] {
      try {
        if (writer_) writer_->commit();
      } catch (...) {
        failure_ = std::current_exception();
      }
      on_disk_ = true;
    });
  });
  closed_ = true;
}

bool Saving::on_disk() const { return comm::all_reduce(comm_, on_disk_ ? 1 : 0, comm::Reduce::min) == 1; }

std::string Saving::whole() {
  comm::agree(comm_, [&] {
    disk_.join();
    if (failure_) std::rethrow_exception(failure_);
  });
  const auto bytes = comm::all_gather(comm_, own_.bytes);
  const auto checksums = comm::all_gather(comm_, own_.xxh64);
  for (std::size_t p = 0; p < writers_.size(); ++p) {
    manifest_.parts[p].bytes = bytes[writers_[p]];
    manifest_.parts[p].xxh64 = checksums[writers_[p]];
  }
  comm::agree(comm_, [&] {
    if (comm_.rank() != 0) return;
    datasets::write_index(folder_, manifest_, before_);
    manifest_.xxh64 = datasets::write_manifest(folder_, manifest_, before_);
  });
  comm::broadcast(comm_, manifest_.xxh64, 0);
  return manifest_.xxh64;
}

}  // namespace shardmark::workloads
