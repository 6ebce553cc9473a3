// SPDX-License-Identifier: Apache-2.0
#include "workloads/sweep/ping_pong.hpp"

#include <algorithm>

#include "comm/collectives.hpp"
#include "comm/messages.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark::workloads {
namespace {

constexpr std::int64_t smallest = 64;
constexpr int most_rounds = 4;  ///< partners that a rank plays with
constexpr double seconds_per_size = 0.02;

/// Returns the rank of this number on a node; the own one if there are fewer.
int rank_on(const comm::Communicator& comm, int node, int number) {
  for (int rank = 0; rank < comm.size(); ++rank)
    if (comm.node_of(rank) == node && number-- == 0) return rank;
  return comm.rank();
}

/// Returns the rank to exchange messages with in a round, or the rank itself: in n rounds each of n ranks is paired
/// with each.
int partner_inside(const comm::Communicator& comm, int round) {
  const int partner = (round + comm.node_size() - comm.node_rank() % comm.node_size()) % comm.node_size();
  return rank_on(comm, comm.node_of(comm.rank()), partner);
}

int partner_between(const comm::Communicator& comm, int round) {
  const int node = (round + comm.nodes() - comm.node_of(comm.rank())) % comm.nodes();
  return rank_on(comm, node, comm.node_rank());
}

/// Holds one buffer to send and one to receive, as an exchange has: what is sent again stays in the sender's cache.
struct Buffers {
  explicit Buffers(std::int64_t bytes) : send(static_cast<std::size_t>(bytes)), receive(send.size()) {}

  std::vector<std::byte> send, receive;
};

/// Returns the seconds of one direction: half a round trip; 0 without a partner.
double play(const comm::Communicator& comm, int partner, Buffers& buffers, std::size_t bytes) {
  if (partner == comm.rank()) return 0.0;
  comm::Messages messages(comm);
  const double begin = MPI_Wtime();
  for (const bool sends : {comm.rank() < partner, comm.rank() > partner}) {
    if (sends)
      messages.send(std::span(buffers.send).first(bytes), partner);
    else
      messages.receive(std::span(buffers.receive).first(bytes), partner);
    messages.wait();
  }
  return (MPI_Wtime() - begin) / 2;
}

/// Returns the seconds of the slowest pair in the best repetition: what the links can do, whatever else disturbed them.
double seconds_of(const comm::Communicator& comm, int partner, Buffers& buffers, std::int64_t bytes) {
  const auto slowest = [&] {
    enter("ping-pong");
    comm::barrier(comm);
    return comm::all_reduce(comm, play(comm, partner, buffers, static_cast<std::size_t>(bytes)), comm::Reduce::max);
  };
  slowest();
  double best = slowest(), spent = best;
  for (int repetition = 1; repetition < 10 || (repetition < 1000 && spent < seconds_per_size); ++repetition) {
    const double seconds = slowest();
    best = std::min(best, seconds);
    spent += seconds;
  }
  return best;
}

template <class Partner>
MessageTimes times_of(const comm::Communicator& comm, int group, std::int64_t largest, Buffers& buffers,
                      Partner&& partner) {
  if (group < 2) return {};
  std::vector<MessageTimes::Point> points;
  for (std::int64_t bytes = smallest;; bytes = std::min(4 * bytes, largest)) {
    double worst = 0.0;
    for (int round = 0; round < std::min(group, most_rounds); ++round)
      worst = std::max(worst, seconds_of(comm, partner(comm, round), buffers, bytes));
    points.push_back({bytes, worst});
    if (bytes >= largest) break;
  }
  for (auto point = points.rbegin() + 1; point != points.rend(); ++point)  // a larger message takes no less
    point->seconds = std::min(point->seconds, (point - 1)->seconds);
  return MessageTimes(std::move(points));
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

PingPong measure_ping_pong(const comm::Communicator& comm, std::int64_t largest) {
  largest = std::max(largest, smallest);
  Buffers buffers(largest);
  const int most_on_a_node = comm::all_reduce(comm, comm.node_size(), comm::Reduce::max);
  return {times_of(comm, most_on_a_node, largest, buffers, partner_inside),
          times_of(comm, comm.nodes(), largest, buffers, partner_between)};
}

std::optional<double> least_seconds(const PingPong& links, const placement::ByteMatrix& traffic,
                                    const comm::Communicator& comm) {
  const auto ranks = static_cast<std::size_t>(comm.size()), nodes = static_cast<std::size_t>(comm.nodes());
  std::vector<std::int64_t> inside_out(ranks), inside_in(ranks), between_out(nodes), between_in(nodes), size(nodes);
  for (int from = 0; from < comm.size(); ++from) {
    const auto f = static_cast<std::size_t>(from), node = static_cast<std::size_t>(comm.node_of(from));
    ++size[node];
    for (int to = 0; to < comm.size(); ++to) {
      const auto t = static_cast<std::size_t>(to), other = static_cast<std::size_t>(comm.node_of(to));
      const std::int64_t bytes = from == to ? 0 : traffic(from, to);
      (node == other ? inside_out[f] : between_out[node]) += bytes;
      (node == other ? inside_in[t] : between_in[other]) += bytes;
    }
  }
  double seconds = 0.0;
  const auto take = [&seconds](const MessageTimes& times, std::int64_t bytes) {
    if (bytes > 0 && times.known()) seconds = std::max(seconds, times.seconds(bytes));
  };
  take(links.inside, std::max(std::ranges::max(inside_out), std::ranges::max(inside_in)));
  for (std::size_t node = 0; node < nodes; ++node)
    take(links.between, std::max(between_out[node], between_in[node]) / size[node]);
  return seconds > 0.0 ? std::optional(seconds) : std::nullopt;
}

}  // namespace shardmark::workloads
