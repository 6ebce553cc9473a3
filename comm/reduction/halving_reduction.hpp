// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>

#include "comm/reduction/reduction.hpp"

namespace shardmark::comm {

/// Adds by recursive halving, and gathers by recursive doubling: log2 P rounds of fewer, larger messages (Thakur,
/// Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA 2005).
///
/// Q of the P ranks participate, the largest power of two. Among the first 2 (P - Q) ranks the even ones first send all
/// their partial sums to the next rank, which adds them to its own, participates for both and hands them their sums at
/// the end. Participants q (0 to Q) then stand for one or two neighbouring ranks. In rounds of distance d = Q/2, Q/4,
/// ..., 1 each exchanges with q xor d: it keeps the half of the values that its side of the pair needs and gives the
/// other away. The values of every rank are thus added in the same order: with x(q) the partial sum of participant q,
///   x(q) + x(q + d) for all q < d takes the place of x(q), d = Q/2, Q/4, ..., 1.
class HalvingReduction : public Reduction {
 public:
  explicit HalvingReduction(const Communicator& comm);

 private:
  void make_room() override;
  void add(std::span<const float> partials, std::span<float> sums) override;
  void gather(std::span<const float> own, std::span<float> all) override;

  bool pair(int rank) const { return rank < 2 * folded_; }
  int participant(int rank) const { return pair(rank) ? rank / 2 : rank - folded_; }
  int first_rank(int participant) const { return participant < folded_ ? 2 * participant : participant + folded_; }
  int rank_of(int participant) const { return participant < folded_ ? 2 * participant + 1 : participant + folded_; }
  /// Returns the values for the `count` participants from `first` on.
  template <class T>
  std::span<T> of(std::span<T> values, int first, int count) const {
    return part(values, first_rank(first), first_rank(first + count));
  }
  std::span<const float> add_received(std::span<const float> mine, int first, int count, int peer);

  int participants_, folded_;
  std::size_t room_ = 0;
  std::array<std::unique_ptr<float[]>, 2> sums_;  ///< of this round and the one before; places as in the whole
};

}  // namespace shardmark::comm
