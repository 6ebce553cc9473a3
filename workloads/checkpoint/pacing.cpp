// SPDX-License-Identifier: Apache-2.0
#include "workloads/checkpoint/pacing.hpp"

#include <mpi.h>

#include <algorithm>

#include "comm/collectives.hpp"

namespace shardmark::workloads {
namespace {

/// This is the share of the time of steps that a save behind them may take from them. What it costs them otherwise,
/// copies of rows that they update and the disk beside them, is about as much again.
constexpr double share_behind = 0.07;

}  // namespace

void Pacing::enter() {
  entered_ = MPI_Wtime();
  if (left_ > 0.0) credit_ += share_behind * (entered_ - left_);
}

void Pacing::leave(Waiting waiting) {
  left_ = MPI_Wtime();
  const double seconds = left_ - entered_;
  if (waiting == Waiting::end) {
    ended_ += seconds;
    return;
  }
  waited_ += seconds;
  longest_ = std::max(longest_, seconds);
}

void Pacing::did(double seconds) {
  of_part_ = seconds;
  credit_ -= seconds;
}

void Pacing::rest() { credit_ = std::min(credit_, 0.0); }

bool Pacing::goes_on(const comm::Communicator& comm) const {
  return comm::all_reduce(comm, comm.rank() == 0 && credit_ >= of_part_ ? 1 : 0, comm::Reduce::max) == 1;
}

}  // namespace shardmark::workloads
