// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "comm/placement/traffic/byte_matrix.hpp"
#include "reference/named.hpp"

namespace shardmark::placement {

/// Makes traffic of one shape: every rank sends `bytes` in all, itself included, split as the shape says; the seed
/// draws which ranks are popular. The result is the same on every rank.
using MakeTraffic = ByteMatrix (*)(int ranks, std::int64_t bytes, std::uint64_t seed);

ByteMatrix uniform_traffic(int ranks, std::int64_t bytes, std::uint64_t seed);
ByteMatrix zipf_traffic(int ranks, std::int64_t bytes, std::uint64_t seed);
ByteMatrix hot_traffic(int ranks, std::int64_t bytes, std::uint64_t seed);
ByteMatrix banded_traffic(int ranks, std::int64_t bytes, std::uint64_t seed);

inline constexpr std::array skews{
    Choice<MakeTraffic>{"uniform", "1/P to each rank", uniform_traffic},
    Choice<MakeTraffic>{"zipf",
                        "in proportion to 1, 1/2, 1/3, ... to the ranks in a random order, the same for all senders",
                        zipf_traffic},
    Choice<MakeTraffic>{"hot", "three quarters to one random rank, the rest evenly to the others", hot_traffic},
    Choice<MakeTraffic>{"banded", "half to the rank before, half to the rank after, nothing to others", banded_traffic},
};

}  // namespace shardmark::placement
