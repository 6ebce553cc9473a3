// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "comm/exchange/byte_buffer.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/exchange/per_route.hpp"
#include "comm/messages.hpp"

namespace shardmark::comm {

/// This is Bruck's algorithm with radix r (Bruck et al., TPDS 1997) for any counts. The block for the rank at distance
/// d travels by the digits of d: in round x all blocks whose digit x is z go, as one message, to rank + z r^x. A rank
/// sends (r-1) log_r P messages in place of P-1, but a byte travels up to log_r P times: it is for small blocks. No
/// rank knows the sizes of what passes through it: on a route's first run they are sent first, in messages of the same
/// pattern (two-phase Bruck, Fan et al., HPDC 2022), and kept.
class Bruck : public Exchange {
 public:
  Bruck(const Communicator& comm, int radix);

  /// Counts one buffer for what leaves in a round, and one for what arrives in each round.
  static double keeps(const Communicator& comm, int radix);

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;
  std::span<const std::int64_t> sent() const override { return messages_.sent(); }

 private:
  using Sizes = std::vector<std::int64_t>;  ///< elements, by distance
  /// A Step holds the blocks of a round that go to one rank.
  struct Step {
    int distance;
    std::vector<std::size_t> blocks;
  };
  /// A Setup holds the sizes before each round, and after the last.
  using Setup = std::vector<Sizes>;

  void find_sizes(const Route& route, Setup& sizes);

  const Communicator& comm_;
  std::vector<std::vector<Step>> rounds_;
  Messages messages_;
  PerRoute<Setup> setups_;
  ByteBuffer sent_;
  std::vector<ByteBuffer> received_;                ///< by round
  std::vector<std::span<const std::byte>> blocks_;  ///< by distance: where each is now
};

}  // namespace shardmark::comm
