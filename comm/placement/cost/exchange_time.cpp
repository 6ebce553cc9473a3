// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/exchange_time.hpp"

#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "reference/number.hpp"

namespace shardmark::placement {
namespace {

double cost(const MessageCost& message, double count, double bytes) {
  return count > 0.0 && bytes > 0.0 ? count * message.seconds(bytes) : 0.0;
}

double sum_of(std::span<const double> bytes) { return std::accumulate(bytes.begin(), bytes.end(), 0.0); }

/// Returns the seconds of what leaves, or enters, the busiest node at that rate; 0: no limit.
double node_seconds(const RankLayout& layout, double bytes_per_second, std::span<const double> bytes) {
  if (bytes_per_second <= 0.0 || layout.nodes() == 1) return 0.0;
  const double all = sum_of(bytes);
  double most = 0.0;
  for (int node = 0; node < layout.nodes(); ++node) {
    const int own = layout.on_node(node);
    const double of_node = sum_of(bytes.subspan(static_cast<std::size_t>(node) * layout.per_node, own));
    most = std::max({most, of_node * (layout.ranks - own), (all - of_node) * own});
  }
  return most / bytes_per_second;
}

/// Returns the same where only ranks with the same number on their nodes exchange; without bytes none do.
double node_rail_seconds(const RankLayout& layout, double bytes_per_second, std::span<const double> bytes) {
  if (bytes_per_second <= 0.0 || bytes.empty()) return 0.0;
  double most = 0.0;
  for (int node = 0; node < layout.nodes(); ++node)
    most =
        std::max(most, sum_of(bytes.subspan(static_cast<std::size_t>(node) * layout.per_node, layout.on_node(node))));
  return most * (layout.nodes() - 1) / bytes_per_second;
}

/// Returns what an all-reduce of that many bytes takes of the links of a node: those of a ring.
double node_sum_seconds(const RankLayout& layout, double bytes_per_second, double bytes) {
  const double N = layout.nodes();
  return N > 1 && bytes_per_second > 0.0 ? 2 * (N - 1) / N * bytes / bytes_per_second : 0.0;
}

/// Returns the seconds of what leaves, or enters, the busiest group of ranks that share a switch, to and from the
/// others of its node.
double switch_seconds(const RankLayout& layout, const MachineModel& machine, std::span<const double> bytes) {
  if (machine.switch_ranks <= 0 || machine.switch_bytes_per_second <= 0.0) return 0.0;
  double most = 0.0;
  for (int node = 0; node < layout.nodes(); ++node) {
    const int own = layout.on_node(node);
    const auto of_node = bytes.subspan(static_cast<std::size_t>(node) * layout.per_node, own);
    const double all = sum_of(of_node);
    for (int first = 0; first < own; first += machine.switch_ranks) {
      const int ranks = std::min(machine.switch_ranks, own - first);
      const double of_switch = sum_of(of_node.subspan(first, ranks));
      most = std::max({most, of_switch * (own - ranks), (all - of_switch) * ranks});
    }
  }
  return most / machine.switch_bytes_per_second;
}

/// Holds the seconds of what ranks send: of all together, and of the one that sends or receives most.
struct Sending {
  double all = 0.0, most = 0.0;
};

/// Adds up messages by the seconds that rank r takes for each of its own, to neighbours and to ranks of other nodes.
Sending sending(const RankLayout& layout, std::span<const double> inside, std::span<const double> between) {
  std::vector<double> node_inside(layout.nodes()), node_between(layout.nodes());
  for (std::size_t r = 0; r < inside.size(); ++r) {
    node_inside[layout.node_of(static_cast<int>(r))] += inside[r];
    node_between[layout.node_of(static_cast<int>(r))] += between[r];
  }
  const double all_between = sum_of(between);
  Sending seconds;
  for (std::size_t r = 0; r < inside.size(); ++r) {
    const int node = layout.node_of(static_cast<int>(r)), neighbours = layout.on_node(node) - 1;
    const double sent = inside[r] * neighbours + between[r] * (layout.ranks - 1 - neighbours);
    const double received = node_inside[node] - inside[r] + all_between - node_between[node];
    seconds.all += sent;
    seconds.most = std::max({seconds.most, sent, received});
  }
  return seconds;
}

/// Returns the seconds where every rank sends to every other directly: those of the busiest rank as if it alone sent or
/// received, and what the messages of the others, in the mean, slow its own down.
double direct_seconds(const RankLayout& layout, const MachineModel& machine, std::string_view exchange,
                      std::span<const double> bytes) {
  const ExchangeCost& message = machine.exchange(exchange);
  const MessagesOfRank messages = messages_of(exchange, layout);
  std::vector<double> inside(bytes.size()), between(bytes.size()), slowed_inside(bytes.size()),
      slowed_between(bytes.size());
  for (std::size_t r = 0; r < bytes.size(); ++r) {
    const auto set = [&](double seconds, double share, double& alone, double& slowed) {
      alone = seconds * share;
      slowed = seconds - alone;
    };
    set(seconds_in_parts(message.inside, messages.inside_size, bytes[r]),
        share_at(machine.alone.inside, messages.inside_size * bytes[r]), inside[r], slowed_inside[r]);
    if (layout.nodes() > 1)
      set(seconds_in_parts(message.between, messages.between_size, bytes[r]),
          share_at(machine.alone.between, messages.between_size * bytes[r]), between[r], slowed_between[r]);
  }
  const Sending alone = sending(layout, inside, between);
  if (!machine.alone.of_messages()) return alone.most;
  const Sending slowed = sending(layout, slowed_inside, slowed_between);
  return alone.most + (slowed.all - slowed.most) / (layout.ranks - 1);
}

/// Returns the seconds where blocks travel by way of other ranks: every rank carries the mean.
double forwarded_seconds(const RankLayout& layout, const ExchangeCost& message, std::string_view exchange,
                         std::span<const double> bytes) {
  const MessagesOfRank messages = messages_of(exchange, layout);
  const double mean = sum_of(bytes) / static_cast<double>(bytes.size());
  return cost(message.inside, messages.inside, messages.inside_size * mean) +
         cost(message.between, messages.between, messages.between_size * mean);
}

double seconds_of(const RankLayout& layout, const MachineModel& machine, std::string_view exchange,
                  std::span<const double> bytes) {
  const ExchangeCost& message = machine.exchange(exchange);
  const double links = shape_of(exchange).forwards ? forwarded_seconds(layout, message, exchange, bytes)
                                                   : direct_seconds(layout, machine, exchange, bytes);
  if (links <= 0.0) return 0.0;
  return latency_seconds(layout, machine, exchange) +
         std::max({links, node_seconds(layout, machine.node_bytes_per_second, bytes),
                   switch_seconds(layout, machine, bytes)});
}

/// Ranks of one node, or of one rail, as a cluster of their own.
double group_seconds(const RankLayout& group, const MachineModel& machine, std::string_view exchange,
                     std::span<const double> bytes, std::size_t first, std::size_t stride) {
  std::vector<double> of_group;
  for (std::size_t r = first; of_group.size() < static_cast<std::size_t>(group.ranks) && r < bytes.size(); r += stride)
    of_group.push_back(bytes[r]);
  return exchange_seconds({static_cast<int>(of_group.size()), group.per_node}, machine, exchange, of_group);
}

}  // namespace

MessagesOfRank messages_of(std::string_view exchange, const RankLayout& layout) {
  const ExchangeShape& shape = shape_of(exchange);
  const auto colon = exchange.find(':');
  const auto number = colon == exchange.npos ? std::nullopt : number_in<int>(std::string(exchange.substr(colon + 1)));
  return shape.messages(layout, std::max(shape.number.least, number.value_or(shape.number.by_default)));
}

double seconds_in_parts(const MessageCost& message, double size, double bytes) {
  return cost(message, 1.0 / size, size * bytes);
}

double latency_seconds(const RankLayout& layout, const MachineModel& machine, std::string_view exchange) {
  const ExchangeCost& cost = machine.exchange(exchange);
  const MessagesOfRank messages = messages_of(exchange, layout);
  return messages.calls * cost.call + messages.inside_rounds * cost.inside_round +
         messages.between_rounds * cost.between_round;
}

double exchange_seconds(const RankLayout& layout, const MachineModel& machine, std::string_view exchange,
                        std::span<const double> bytes) {
  if (layout.ranks <= 1) return 0.0;
  if (!shape_of(exchange).chooses) return seconds_of(layout, machine, exchange, bytes);
  double best = seconds_of(layout, machine, library_exchange, bytes);
  for (const auto& [name, of_exchange] : machine.exchanges)
    best = std::min(best, seconds_of(layout, machine, name, bytes));
  return best;
}

double node_exchange_seconds(const RankLayout& layout, const MachineModel& machine, std::string_view exchange,
                             std::span<const double> bytes) {
  double most = 0.0;
  for (int node = 0; node < layout.nodes(); ++node)
    most = std::max(most, group_seconds({layout.on_node(node), layout.per_node}, machine, exchange, bytes,
                                        static_cast<std::size_t>(node) * layout.per_node, 1));
  return most;
}

double rail_exchange_seconds(const RankLayout& layout, const MachineModel& machine, std::string_view exchange,
                             std::span<const double> bytes) {
  double most = node_rail_seconds(layout, machine.node_bytes_per_second, bytes);
  for (int rail = 0; rail < std::min(layout.per_node, layout.ranks); ++rail)
    most = std::max(most, group_seconds({layout.nodes(), 1}, machine, exchange, bytes, rail, layout.per_node));
  return most;
}

double all_reduce_seconds(const RankLayout& layout, const MachineModel& machine, double bytes) {
  if (layout.ranks <= 1 || bytes <= 0.0) return 0.0;
  const double P = layout.ranks, L = std::min(layout.per_node, layout.ranks), N = layout.nodes();
  const MessageCost &inside = machine.all_reduce_inside, &between = machine.all_reduce_between;
  const double ring = 2 * (L - 1) * cost(inside, 1, bytes / L) + 2 * (N - 1) * cost(between, 1, bytes / P);
  const double tree =
      2 * std::ceil(std::log2(L)) * cost(inside, 1, bytes) + 2 * std::ceil(std::log2(N)) * cost(between, 1, bytes);
  double links = std::min(ring, tree);
  if (machine.all_reduce_by_trees) {
    const auto part = [&](const MessageCost& message, double times) {
      return times * (message.seconds(bytes / L) - message.seconds(0.0));
    };
    const double latency = 2 * (L - 1) * inside.seconds(0.0) + 2 * std::ceil(std::log2(N)) * between.seconds(0.0);
    links = std::min(links, latency + std::max(part(inside, 2 * (L - 1)), part(between, 2 * (N - 1) / N)));
  }
  return machine.all_reduce_call + std::max(links, node_sum_seconds(layout, machine.node_bytes_per_second, bytes));
}

double limited_seconds(const RankLayout& layout, const LinkLimit& limit, std::span<const double> bytes,
                       std::span<const double> rail_bytes) {
  return node_seconds(layout, limit.bytes_per_second, bytes) +
         node_rail_seconds(layout, limit.bytes_per_second, rail_bytes);
}

double limited_sum_seconds(const RankLayout& layout, const LinkLimit& limit, double bytes) {
  return node_sum_seconds(layout, limit.bytes_per_second, bytes);
}

double link_seconds(const RankLayout& layout, const MachineModel& machine, std::string_view exchange,
                    std::span<const double> bytes) {
  if (layout.ranks <= 1) return 0.0;
  const ExchangeCost& message = machine.exchange(exchange);
  const double inside = message.inside.bytes_per_second() / least_share(machine.alone.inside),
               between = machine.limit.limits()
                             ? 0.0
                             : message.between.bytes_per_second() / least_share(machine.alone.between);
  const double L = std::min(layout.per_node, layout.ranks), far = layout.ranks - L, all = sum_of(bytes);
  double most = 0.0;
  for (const double sent : bytes) {
    const double share = (all - sent) / (layout.ranks - 1);  // that the rank receives, of each other rank
    const double busiest = std::max(sent, share);
    most = std::max(most, (inside > 0 ? (L - 1) * busiest / inside : 0.0) +
                              (far > 0 && between > 0 ? far * busiest / between : 0.0));
  }
  return std::max({most, node_seconds(layout, machine.node_bytes_per_second, bytes),
                   node_seconds(layout, machine.limit.bytes_per_second, bytes) - machine.limit.burst_seconds()});
}

}  // namespace shardmark::placement
