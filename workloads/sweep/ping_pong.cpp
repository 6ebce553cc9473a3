// SPDX-License-Identifier: Apache-2.0
#include "workloads/sweep/ping_pong.hpp"

#include <algorithm>

#include "comm/collectives.hpp"
#include "comm/messages.hpp"
#include "workloads/watchdog.hpp"

namespace shardmark {
namespace {

constexpr std::int64_t smallest = 64;
constexpr int most_rounds = 4;  ///< partners that a rank plays with
constexpr double seconds_per_size = 0.02;

/// The rank to play with in a round, or itself: in n rounds everyone of n meets everyone.
int partner_inside(const Communicator& comm, int round) {
  const int partner = (round + comm.node_size() - comm.node_rank() % comm.node_size()) % comm.node_size();
  for (int rank = 0, number = 0; rank < comm.size(); ++rank)
    if (comm.node_of(rank) == comm.node_of(comm.rank()) && number++ == partner) return rank;
  return comm.rank();
}

int partner_between(const Communicator& comm, int round) {
  const int own = comm.node_of(comm.rank());
  const int node = (round + comm.nodes() - own) % comm.nodes();
  if (node == own) return comm.rank();
  for (int rank = 0, number = 0; rank < comm.size(); ++rank)
    if (comm.node_of(rank) == node && number++ == comm.node_rank()) return rank;
  return comm.rank();  // that node has fewer ranks
}

/// Seconds of one way: half a round trip; 0 without a partner.
double play(const Communicator& comm, int partner, std::span<std::byte> buffer) {
  if (partner == comm.rank()) return 0.0;
  Messages messages(comm);
  const double begin = MPI_Wtime();
  for (const bool sends : {comm.rank() < partner, comm.rank() > partner}) {
    if (sends)
      messages.send(buffer, partner);
    else
      messages.receive(buffer, partner);
    messages.wait();
  }
  return (MPI_Wtime() - begin) / 2;
}

/// The slowest pair of the best repetition: what the links can do, whatever else disturbed them.
double seconds_of(const Communicator& comm, int partner, std::span<std::byte> buffer) {
  const auto slowest = [&] {
    enter("ping-pong");
    barrier(comm);
    return all_reduce(comm, play(comm, partner, buffer), Reduce::max);
  };
  slowest();
  double best = slowest();
  const int repetitions = std::clamp(static_cast<int>(seconds_per_size / std::max(best, 1e-7)), 3, 50);
  for (int i = 0; i < repetitions; ++i) best = std::min(best, slowest());
  return best;
}

template <class Partner>
MessageTimes times_of(const Communicator& comm, int group, std::int64_t largest, std::span<std::byte> buffer,
                      Partner&& partner) {
  if (group < 2) return {};
  std::vector<MessageTimes::Point> points;
  for (std::int64_t bytes = smallest;; bytes = std::min(4 * bytes, largest)) {
    double worst = 0.0;
    for (int round = 0; round < std::min(group, most_rounds); ++round)
      worst = std::max(worst, seconds_of(comm, partner(comm, round), buffer.first(static_cast<std::size_t>(bytes))));
    points.push_back({bytes, worst});
    if (bytes >= largest) return MessageTimes(std::move(points));
  }
}

}  // namespace

double MessageTimes::seconds(std::int64_t bytes) const {
  if (bytes <= points_.front().bytes || points_.size() == 1) return points_.front().seconds;
  auto right = std::ranges::find_if(points_, [&](const Point& point) { return point.bytes >= bytes; });
  if (right == points_.end()) --right;
  const Point &above = *right, &below = *(right - 1);
  return below.seconds + (above.seconds - below.seconds) * static_cast<double>(bytes - below.bytes) /
                             static_cast<double>(above.bytes - below.bytes);
}

PingPong measure_ping_pong(const Communicator& comm, std::int64_t largest) {
  largest = std::max(largest, smallest);
  std::vector<std::byte> buffer(static_cast<std::size_t>(largest));
  const int most_on_a_node = all_reduce(comm, comm.node_size(), Reduce::max);
  return {times_of(comm, most_on_a_node, largest, buffer, partner_inside),
          times_of(comm, comm.nodes(), largest, buffer, partner_between)};
}

std::optional<double> least_seconds(const PingPong& links, const ByteMatrix& traffic, const Communicator& comm) {
  std::int64_t inside = 0, between = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    std::int64_t inside_out = 0, inside_in = 0, between_out = 0, between_in = 0;
    for (int peer = 0; peer < comm.size(); ++peer) {
      if (peer == rank) continue;
      const bool same = comm.node_of(peer) == comm.node_of(rank);
      (same ? inside_out : between_out) += traffic(rank, peer);
      (same ? inside_in : between_in) += traffic(peer, rank);
    }
    inside = std::max({inside, inside_out, inside_in});
    between = std::max({between, between_out, between_in});
  }
  double seconds = 0.0;
  if (inside > 0 && links.inside.known()) seconds = links.inside.seconds(inside);
  if (between > 0 && links.between.known()) seconds = std::max(seconds, links.between.seconds(between));
  return seconds > 0.0 ? std::optional(seconds) : std::nullopt;
}

}  // namespace shardmark
