// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "comm/placement/cost/machine_model.hpp"
#include "comm/placement/exchange_shapes.hpp"

namespace shardmark::placement {

/// Returns the messages of exchange "name" or "name:N", by its shape.
MessagesOfRank messages_of(std::string_view exchange, const RankLayout& layout);

/// Returns the seconds of that many bytes in messages of size x bytes each, as exchanges send them whose ranks send to
/// each other directly (MessagesOfRank); 0 where there are none.
double seconds_in_parts(const MessageCost& message, double size, double bytes);

/// Returns the seconds of an exchange that do not grow with its messages: its calls, and a latency for each round of
/// messages that are in flight together.
double latency_seconds(const RankLayout& layout, const MachineModel& machine, std::string_view exchange);

/// Returns the seconds of an exchange in which rank r sends bytes[r] to each other rank. They are the latency and
/// those of the rank whose messages, sent or received, take longest, or what the node takes that sends or receives
/// most, whose ranks share node_bytes_per_second, or the ranks that share a switch. Where messages slow each other
/// down, the busiest rank's take less the less the others send (AloneShares). An exchange in which rank r receives
/// bytes[r] from each other takes as long. For `auto` they are those of the fastest exchange that the machine knows.
double exchange_seconds(const RankLayout& layout, const MachineModel& machine, std::string_view exchange,
                        std::span<const double> bytes);

/// These functions return the seconds where only ranks of one node exchange, bytes[r] each with its neighbours, and
/// where only the ranks with the same number on their nodes do.
double node_exchange_seconds(const RankLayout& layout, const MachineModel& machine, std::string_view exchange,
                             std::span<const double> bytes);
double rail_exchange_seconds(const RankLayout& layout, const MachineModel& machine, std::string_view exchange,
                             std::span<const double> bytes);

/// Returns the seconds of an all-reduce of that many bytes over all ranks: the faster of a ring, 2 (P - 1) steps of
/// bytes / P, of which several nodes have 2 (L - 1) of bytes / L inside and 2 (N - 1) of bytes / P between them; and of
/// a tree, 2 log2 P steps of all bytes; where the machine has pipelined trees, also the
/// latencies of a ring inside nodes and of a tree between them, 2 (L - 1) and 2 log2 N, and the bytes of the slower of
/// the two, which run at once.
double all_reduce_seconds(const RankLayout& layout, const MachineModel& machine, double bytes);

/// Returns the seconds for which an exchange takes up the links of the busiest node in the long run, in which rank r
/// exchanges bytes[r] with each other rank, and rail_bytes[r] with each that has its number on another node, directly.
double limited_seconds(const RankLayout& layout, const LinkLimit& limit, std::span<const double> bytes,
                       std::span<const double> rail_bytes);
/// Returns those of an all-reduce of that many bytes.
double limited_sum_seconds(const RankLayout& layout, const LinkLimit& limit, double bytes);

/// Returns the seconds that the bytes of the busiest rank take at the speed of large messages, without any latency: the
/// least that the links allow, where they have a limit (LinkLimit) after a rest.
double link_seconds(const RankLayout& layout, const MachineModel& machine, std::string_view exchange,
                    std::span<const double> bytes);

}  // namespace shardmark::placement
