// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>

#include "comm/reduction/reduction.hpp"

namespace shardmark::comm {

/// Adds and gathers in P-1 rounds each; in round k a rank sends to rank+k and receives from rank-k (modulo P): its
/// partial sums for that rank, later its own values. Every value travels once, straight to where it is needed. The
/// order of the additions on rank r is: its own partial sum, then those of r-1, r-2, ..., r-(P-1) modulo P, one by one;
/// what came in one round is added while the next is under way.
class PairwiseReduction : public Reduction {
 public:
  using Reduction::Reduction;

 private:
  void make_room() override;
  void add(std::span<const float> partials, std::span<float> sums) override;
  void gather(std::span<const float> own, std::span<float> all) override;

  std::size_t room_ = 0;
  std::array<std::unique_ptr<float[]>, 2> arrived_;  ///< what came in this round and in the one before
};

}  // namespace shardmark::comm
