// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/communicator.hpp"
#include "datasets/checkpoint/parts.hpp"
#include "workloads/checkpoint/row_pieces.hpp"
#include "workloads/checkpoint/saved_layout.hpp"

namespace shardmark::workloads {

/// Cuts the shares of all ranks into rounds: of each rank its ranges, as many as of the rank with most; those of count
/// 0 are none.
std::vector<std::vector<datasets::SavedRange>> rounds_of(const std::vector<datasets::SavedArray>& arrays,
                                                         const std::vector<std::vector<datasets::SavedRange>>& shares);

/// Writes one checkpoint, a round of blocks at a time: round() while there are any, close(), and whole() when every
/// rank's part is on the disk, which a thread of its own waits for. These are collective, and throw alike on all ranks.
class Saving {
 public:
  /// manifest: its step, parent and run; layout: its arrays. The folder is made here. held: the rows, which outlives
  /// the object as `comm` does. before: called as FileSteps says, by one thread at a time.
  Saving(const comm::Communicator& comm, std::string folder, datasets::Manifest manifest, SavedLayout layout,
         HeldRows held, FileSteps before);
  ~Saving();

  std::int64_t step() const { return manifest_.step; }
  std::size_t rounds() const { return rounds_.size(); }
  std::size_t rounds_done() const { return done_; }

  /// Carries the rows of the next round into blocks, and writes them.
  void round();
  /// Closes the parts after the last round, and begins to bring them to the disk.
  void close();
  bool is_closed() const { return closed_; }
  /// Returns whether that has ended on all ranks, well or not.
  bool on_disk() const;
  /// Waits for it, and makes the checkpoint whole: its index and its manifest, whose checksum it returns.
  std::string whole();

  std::int64_t bytes() const { return manifest_.bytes(); }  ///< of rows, of all ranks
  std::int64_t sent() const { return exchange_.sent(); }    ///< from this rank to others
  std::int64_t part_bytes() const { return own_.bytes; }    ///< of the file that this rank has closed

 private:
  const comm::Communicator& comm_;
  const std::string folder_;
  datasets::Manifest manifest_;
  const SavedLayout layout_;
  const HeldRows held_;
  const FileSteps before_;
  std::vector<int> writers_;  ///< ranks, by part
  std::vector<std::vector<datasets::SavedRange>> rounds_;
  std::size_t done_ = 0;
  bool closed_ = false;
  std::optional<datasets::PartWriter> writer_;
  datasets::SavedPart own_;
  BlockExchange exchange_;
  std::thread disk_;
  std::atomic<bool> on_disk_ = false;
  std::exception_ptr failure_;  ///< of that thread
};

}  // namespace shardmark::workloads
