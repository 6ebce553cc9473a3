// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/reduce_scatter.hpp"
#include "comm/reduction/reduction.hpp"

namespace shardmark::comm {

/// Calls MPI_Reduce_scatter (reduce_scatter.hpp) and MPI_Allgatherv (all_gather_v): steps, order of the additions and
/// bytes are MPI's own. The bytes counted are those that must be sent at least: every other rank's share, and the
/// rank's own share to every other rank.
class LibraryReduction : public Reduction {
 public:
  using Reduction::Reduction;

 private:
  void add(std::span<const float> partials, std::span<float> sums) override {
    comm::reduce_scatter(comm_, partials, counts_, sums);
    count_shares();
  }
  void gather(std::span<const float> own, std::span<float> all) override {
    all_gather_v(comm_, own, counts_, all);
    count_own();
  }
};

}  // namespace shardmark::comm
