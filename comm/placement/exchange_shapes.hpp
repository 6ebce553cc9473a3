// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace shardmark::placement {

/// A RankLayout describes the ranks that exchange, `per_node` neighbours by number on each node.
struct RankLayout {
  int ranks = 1;
  int per_node = 1;

  constexpr int nodes() const { return (ranks + per_node - 1) / per_node; }
  constexpr int node_of(int rank) const { return rank / per_node; }
  /// Returns the number of ranks of that node.
  constexpr int on_node(int node) const { return std::min(per_node, ranks - node * per_node); }
};

/// Counts the messages of one rank in an exchange of b bytes with each other rank: `inside` messages of `inside_size` b
/// within the node, and `between` messages of `between_size` b between nodes. Messages of one round are in flight
/// together and share its latency; `calls` is how often the library is called to begin and to end them.
struct MessagesOfRank {
  double inside = 0.0, inside_size = 1.0;
  double between = 0.0, between_size = 1.0;
  double inside_rounds = 0.0, between_rounds = 0.0;
  double calls = 1.0;
};

/// Counts one message to each other rank: with P ranks, L per node, L - 1 inside of b and P - L between of b, which are
/// all in flight together: the latency is that of those between nodes where there are some.
constexpr MessagesOfRank direct_messages(const RankLayout& layout, int /*number*/) {
  const double P = layout.ranks, L = std::min(layout.per_node, layout.ranks);
  return {L - 1, 1, P - L, 1, P > L ? 0.0 : 1.0, P > L ? 1.0 : 0.0};
}

/// Counts the same, of which k are in flight at a time, or all where they are fewer.
constexpr MessagesOfRank messages_in_turn(const RankLayout& layout, int k) {
  MessagesOfRank messages = direct_messages(layout, k);
  const double at_a_time = std::clamp(messages.inside + messages.between, 1.0, static_cast<double>(k));
  messages.inside_rounds = messages.inside / at_a_time;
  messages.between_rounds = messages.between / at_a_time;
  return messages;
}

/// Counts those of a rank that has one partner at a time.
constexpr MessagesOfRank messages_one_by_one(const RankLayout& layout, int /*number*/) {
  return messages_in_turn(layout, 1);
}

/// Counts direct_messages() in k parts, of which each is a call of its own: k messages of b / k for each of b.
constexpr MessagesOfRank messages_in_parts(const RankLayout& layout, int k) {
  MessagesOfRank messages = direct_messages(layout, k);
  messages.inside *= k;
  messages.between *= k;
  messages.inside_size = messages.between_size = 1.0 / k;
  messages.calls = k;
  return messages;
}

/// Counts the messages of bruck:r: ceil(log_r P) rounds, one for each digit of a distance d < P; in that of r^x a
/// message for each value 1 .. r - 1 of the digit that some distance has, of the blocks of these distances. The size is
/// their mean. All are between nodes where there are several.
constexpr MessagesOfRank messages_by_digits(const RankLayout& layout, int radix) {
  double rounds = 0, messages = 0, blocks = 0;
  for (std::int64_t power = 1; power < layout.ranks; power *= radix) {
    ++rounds;
    for (std::int64_t digit = 1; digit < radix && digit * power < layout.ranks; ++digit) {
      ++messages;
      for (std::int64_t first = digit * power; first < layout.ranks; first += radix * power)
        blocks += static_cast<double>(std::min(power, layout.ranks - first));
    }
  }
  const double size = messages > 0 ? blocks / messages : 1.0;
  return layout.nodes() > 1 ? MessagesOfRank{0, 1, messages, size, 0, rounds}
                            : MessagesOfRank{messages, size, 0, 1, rounds, 0};
}

/// Counts the messages over rails, the ranks of the same number on N nodes: inside, L - 1 of b for the neighbours and
/// as many of (N - 1) b that they send on, which have the mean of N / 2 b; then N - 1 between of L b. On one node they
/// are direct_messages().
constexpr MessagesOfRank messages_by_rails(const RankLayout& layout, int number) {
  const double L = std::min(layout.per_node, layout.ranks), N = layout.nodes();
  return N == 1 ? direct_messages(layout, number)
                : MessagesOfRank{2 * (L - 1), N / 2, N - 1, L, L > 1 ? 1.0 : 0.0, 1, L > 1 ? 2.0 : 1.0};
}

/// Counts the messages of one of k leaders of a node: inside, L - 1 of b, or 2 (L / k - 1) of (P - L) b from and to its
/// members; between, (N - 1) k of (L / k)^2 b. What the leader sends its neighbours is small beside what members hand
/// over. On one node they are direct_messages().
constexpr MessagesOfRank messages_of_leaders(const RankLayout& layout, int number) {
  const double P = layout.ranks, L = std::min(layout.per_node, layout.ranks), N = layout.nodes();
  if (N == 1) return direct_messages(layout, number);
  const double leaders = std::min<double>(number, L), members = L / leaders;
  return {std::max(L - 1, 2 * (members - 1)), members > 1 ? P - L : 1, (N - 1) * leaders, members * members, 2, 1, 3};
}

/// Describes the number N of an exchange that is named "name:N"; the description of the exchange says what it means. An
/// exchange without a default takes no number.
struct ExchangeNumber {
  int by_default = 0;
  int least = 1;

  constexpr bool taken() const { return by_default > 0; }
};

/// Says when the exchange `auto` may pick it: for any route, for those it has carried before (on a route's first run
/// the others exchange sizes, and every run would be the first where every batch has new counts), or never.
enum class InAuto { any_route, known_routes, never };

/// Holds what is known of an exchange without MPI.
struct ExchangeShape {
  std::string_view name;
  std::string_view description;
  InAuto in_auto = InAuto::any_route;
  ExchangeNumber number = {};
  MessagesOfRank (*messages)(const RankLayout& layout, int number) = direct_messages;
  bool forwards = false;  ///< blocks travel by way of other ranks, each of which carries the mean
  bool halves = false;    ///< in log P rounds, as reductions by halving do
  bool chooses = false;   ///< among the others of the table
  /// It moves bytes inside a node by loads and stores, or is to find what is fastest there: a caller may then skip the
  /// exchange and write what the ranks of its node need where they read it (NodeMemory).
  bool by_loads = false;
};

/// Lists all exchanges: each is an entry here, one in comm/exchange/exchanges.hpp at the same place, and a file beside
/// that. The first is the library's, with which the others are compared.
inline constexpr std::array exchange_shapes{
    ExchangeShape{"mpi_alltoallv", "MPI_Alltoallv: the library's own algorithm"},
    ExchangeShape{
        .name = "auto",
        .description = "the fastest here for each route; on one node, vectors by loads; on GPUs nccl or host_staged",
        .in_auto = InAuto::never,
        .chooses = true,
        .by_loads = true},
    ExchangeShape{"mpi_neighbor", "MPI_Neighbor_alltoallv among ranks that share traffic", InAuto::known_routes},
    ExchangeShape{"linear", "all messages at once, to and from the nearest ranks first"},
    ExchangeShape{
        "linear_throttled", "the same, N partners at a time", InAuto::any_route, {.by_default = 4}, messages_in_turn},
    ExchangeShape{"persistent", "the messages of linear, set up once (MPI_Send_init) and started again",
                  InAuto::known_routes},
    ExchangeShape{
        "chunked", "the messages of linear in N parts", InAuto::any_route, {.by_default = 4}, messages_in_parts},
    ExchangeShape{.name = "pairwise",
                  .description = "P-1 rounds, in round k to rank+k and from rank-k",
                  .messages = messages_one_by_one},
    ExchangeShape{.name = "bruck",
                  .description = "radix N: log P rounds, blocks travel together by the digits of their distance",
                  .in_auto = InAuto::known_routes,
                  .number = {.by_default = 2, .least = 2},
                  .messages = messages_by_digits,
                  .forwards = true,
                  .halves = true},
    ExchangeShape{.name = "node_aware",
                  .description = "rails: only ranks of the same number on their nodes talk between nodes",
                  .in_auto = InAuto::known_routes,
                  .messages = messages_by_rails,
                  .forwards = true},
    ExchangeShape{.name = "node_leader",
                  .description = "N leaders per node gather, exchange between nodes, scatter",
                  .in_auto = InAuto::known_routes,
                  .number = {.by_default = 1},
                  .messages = messages_of_leaders,
                  .forwards = true},
    ExchangeShape{.name = "node_shared",
                  .description = "loads and stores inside a node, messages of linear between nodes",
                  .by_loads = true},
    ExchangeShape{"rma_put", "MPI_Put into windows, between two fences", InAuto::known_routes},
    ExchangeShape{"nccl", "NCCL: grouped sends and receives, a GPU for each rank", InAuto::never},
    ExchangeShape{"host_staged", "MPI_Alltoallv on pinned copies of GPU memory", InAuto::never},
    ExchangeShape{"device_aware", "MPI_Alltoallv on GPU memory, by an MPI that reads it", InAuto::never},
};

inline constexpr std::string_view library_exchange = exchange_shapes.front().name;

/// Names the exchange whose messages cost what those of a reduction by halving do.
inline constexpr std::string_view halving_exchange =
    std::ranges::find(exchange_shapes, true, &ExchangeShape::halves)->name;

/// Returns the entry of "name" or "name:N"; for a name that a machine file has and this program does not, it returns
/// the library's.
constexpr const ExchangeShape& shape_of(std::string_view exchange) {
  const auto found = std::ranges::find(exchange_shapes, exchange.substr(0, exchange.find(':')), &ExchangeShape::name);
  return found == exchange_shapes.end() ? exchange_shapes.front() : *found;
}

}  // namespace shardmark::placement
