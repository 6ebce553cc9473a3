// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/node_channels.hpp"
#include "comm/reduction/reduction.hpp"

namespace shardmark::comm {

/// Adds and gathers by loads and stores, between the ranks of one node (NodeChannels). Pieces of partial sums are added
/// where their senders stored them, those of a sum in the order of the ranks: s = ((x_0 + x_1) + x_2) + ..., so that
/// sums do not depend on who needs them.
class NodeReduction : public Reduction {
 public:
  static std::string unusable(const Communicator& comm);
  explicit NodeReduction(const Communicator& comm) : Reduction(comm), channels_(comm) {}

 private:
  void add(std::span<const float> partials, std::span<float> sums) override;
  void gather(std::span<const float> own, std::span<float> all) override;

  NodeChannels channels_;
};

}  // namespace shardmark::comm
