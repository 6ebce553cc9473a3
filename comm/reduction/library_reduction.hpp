// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/reduction/reduction.hpp"

namespace shardmark::comm {

/// MPI_Reduce_scatter (reduce_scatter.hpp) and MPI_Allgatherv (all_gather_v): steps, order of the additions and bytes
/// are MPI's own. Counted is what must be sent at least: every other rank's share, and one's own to every other rank.
class LibraryReduction : public Reduction {
 public:
  using Reduction::Reduction;

 private:
  void add(std::span<const float> partials, std::span<float> sums) override;
  void gather(std::span<const float> own, std::span<float> all) override;
};

}  // namespace shardmark::comm
