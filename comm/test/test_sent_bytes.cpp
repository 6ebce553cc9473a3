// SPDX-License-Identifier: Apache-2.0
// What every exchange says it sends, and what it hands to MPI, against the ways of single blocks.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "comm/exchange/named_exchange.hpp"
#include "comm/exchange/progress_exchange.hpp"
#include "comm/placement/cost/exchange_time.hpp"
#include "comm/test/some_calibration.hpp"

namespace {

/// Bytes by rank that this process hands to the MPI calls below, which MPI lets a program replace by its own.
std::vector<std::int64_t> handed;
std::vector<std::int64_t> calls;  ///< that handed them, by rank

void hand(int peer, int count) {
  handed[peer] += count;
  ++calls[peer];
}

}  // namespace

extern "C" {

int MPI_Isend(const void* bytes, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  hand(peer, count);
  return PMPI_Isend(bytes, count, type, peer, tag, comm, request);
}

int MPI_Send_init(const void* bytes, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  hand(peer, count);
  return PMPI_Send_init(bytes, count, type, peer, tag, comm, request);
}

int MPI_Put(const void* bytes, int count, MPI_Datatype type, int peer, MPI_Aint offset, int peer_count,
            MPI_Datatype peer_type, MPI_Win window) {
  hand(peer, count);
  return PMPI_Put(bytes, count, type, peer, offset, peer_count, peer_type, window);
}

}  // extern "C"

namespace shardmark::comm {
namespace {

using Matrix = std::vector<std::vector<std::int64_t>>;  // [from][to]

/// Elements from rank to rank, of which a third are none; the same on every rank.
Matrix random_matrix(int ranks, unsigned seed) {
  std::mt19937_64 random(seed);
  Matrix matrix(ranks, std::vector<std::int64_t>(ranks));
  for (auto& row : matrix)
    for (auto& count : row) count = random() % 3 == 0 ? 0 : random() % 50;
  return matrix;
}

/// The leader of a rank among `leaders` of its node: the node's ranks fall into that many groups of neighbours, whose
/// sizes differ by at most one, and the first of a group leads it.
int leader_of(const Communicator& comm, int rank, int leaders) {
  const auto& ranks = comm.ranks_of(comm.node_of(rank));
  const auto place = std::ranges::find(ranks, rank) - ranks.begin(), size = std::ssize(ranks);
  const auto groups = std::min<std::ptrdiff_t>(leaders, size);
  std::ptrdiff_t leader = 0;
  for (std::ptrdiff_t g = 0; g < groups; ++g)
    if (size * g / groups <= place) leader = size * g / groups;
  return ranks[leader];
}

/// The ranks that a block comes to after it leaves `from`, the last of them `to`.
std::vector<int> path(const Communicator& comm, const NamedExchange& exchange, int from, int to) {
  std::vector<int> stops;
  const std::string_view name = exchange.choice->name;
  if (name == "bruck") {  // one message for each digit of the distance, in base `radix`, that is not zero
    const int ranks = comm.size(), radix = exchange.number, distance = (to - from + ranks) % ranks;
    for (int power = 1, at = from; power < ranks; power *= radix)
      if (const int digit = distance / power % radix; digit != 0) stops.push_back(at = (at + digit * power) % ranks);
    return stops;
  }
  if (comm.node_of(from) != comm.node_of(to)) {
    if (name == "node_aware") {  // by way of the rank of this node that has the number which `to` has in its own
      const auto& there = comm.ranks_of(comm.node_of(to));
      stops.push_back(comm.ranks_of(comm.node_of(from))[std::ranges::find(there, to) - there.begin()]);
    }
    if (name == "node_leader")  // by way of both leaders
      stops = {leader_of(comm, from, exchange.number), leader_of(comm, to, exchange.number)};
  }
  stops.push_back(to);
  return stops;
}

/// Bytes that `rank` sends to each rank when every block takes its way.
std::vector<std::int64_t> sent_by(const Communicator& comm, const NamedExchange& exchange, const Matrix& matrix,
                                  int rank, std::int64_t element_bytes) {
  std::vector<std::int64_t> sent(comm.size());
  for (int from = 0; from < comm.size(); ++from)
    for (int to = 0; to < comm.size(); ++to) {
      int at = from;
      for (const int next : path(comm, exchange, from, to)) {
        if (at == rank && next != rank) sent[next] += matrix[from][to] * element_bytes;
        at = next;
      }
    }
  return sent;
}

/// Pretended nodes: all ranks on one, two or three neighbours on each, and ranks dealt out to two.
std::vector<std::vector<int>> all_leaders(int ranks) {
  std::vector<std::vector<int>> all(4);
  for (int rank = 0; rank < ranks; ++rank) {
    all[0].push_back(0);
    all[1].push_back(rank / 2 * 2);
    all[2].push_back(rank / 3 * 3);
    all[3].push_back(rank % 2);
  }
  return all;
}

void begin_counting(const Communicator& comm) {
  handed.assign(comm.size(), 0);
  calls.assign(comm.size(), 0);
}

void check_bytes(const Communicator& comm, const NamedExchange& named, const NamedExchange& as) {
  SCOPED_TRACE(named.name() + " as " + as.name() + ", rank " + std::to_string(comm.rank()));
  constexpr std::int64_t element_bytes = 3;
  constexpr std::size_t section = 1;
  const Matrix matrix = random_matrix(comm.size(), 5);
  const Route route = exchange_counts(comm, matrix[comm.rank()]);
  const std::vector<std::byte> send(route.send_total() * element_bytes);
  SentBytes sent(comm.rank(), comm.size(), 2);
  ProgressThread progress;
  const auto carrying = named.make(comm);
  ProgressExchange exchange(*carrying, progress, sent);
  // Sizes are told in a route's first run; buffers of its own are what makes `persistent` set up its messages again.
  std::vector<std::vector<std::byte>> received(3, std::vector<std::byte>(route.receive_total() * element_bytes));
  for (auto& receive : received) {
    sent.begin(section);
    begin_counting(comm);
    exchange.run(route, send.data(), receive.data(), element_bytes);
    auto payload = matrix[comm.rank()];
    for (auto& bytes : payload) bytes *= element_bytes;
    payload[comm.rank()] = 0;
    EXPECT_EQ(sent.to_ranks(section).payload, payload);
    if (named.choice->name == "auto" && &receive == &received.front()) continue;  // not yet what it is taken as
    EXPECT_EQ(sent.to_ranks(section).sent, sent_by(comm, as, matrix, comm.rank(), element_bytes));
  }
  EXPECT_EQ(sent.to_ranks(0).sent, std::vector<std::int64_t>(comm.size())) << "a section that was never begun";
  if (as.choice->name.starts_with("mpi_")) return;  // which chooses the messages
  auto messages = sent.to_ranks(section).sent;
  for (int peer = 0; peer < comm.size(); ++peer)
    if (as.choice->name == "node_shared" && comm.node_of(peer) == comm.node_of(comm.rank())) messages[peer] = 0;
  EXPECT_EQ(handed, messages);
}

TEST(SentBytes, AreThoseOfTheWaysThatBlocksTake) {
  for (const auto& leaders : all_leaders(Communicator(MPI_COMM_WORLD).size())) {
    const Communicator comm(MPI_COMM_WORLD, std::numeric_limits<int>::max(), leaders);
    begin_counting(comm);
    for (NamedExchange named : all_exchanges()) {
      if (named.choice->name == "auto" || !named.unusable(comm).empty()) continue;
      check_bytes(comm, named, named);
      if (!named.choice->number.taken()) continue;
      ++named.number;
      check_bytes(comm, named, named);
    }
    const std::vector<double> bruck_wins{1.0, 0.5};
    set_calibration(comm, {.ranks = comm.size(),
                           .nodes = comm.nodes(),
                           .exchanges = {"mpi_alltoallv", "bruck:3"},
                           .cells = {{64, false, bruck_wins}, {64, true, bruck_wins}}});
    check_bytes(comm, exchange_named("auto"), exchange_named("bruck:3"));
  }
}

/// Runs an exchange in which all ranks send each other equally much, twice: sizes are told in the first run.
void check_messages(const Communicator& comm, const NamedExchange& named, int per_node) {
  SCOPED_TRACE(named.name() + ", " + std::to_string(per_node) + " ranks a node");
  constexpr std::int64_t bytes = 5040;  // which parts and rounds divide
  const Route route = exchange_counts(comm, std::vector<std::int64_t>(comm.size(), bytes));
  const std::vector<std::byte> send(route.send_total());
  std::vector<std::vector<std::byte>> received(2, std::vector<std::byte>(route.receive_total()));
  const auto exchange = named.make(comm);
  for (auto& receive : received) {
    begin_counting(comm);
    exchange->run(route, send.data(), receive.data(), 1);
  }
  const placement::MessagesOfRank messages = placement::messages_of(named.name(), {comm.size(), per_node});
  EXPECT_EQ(std::accumulate(calls.begin(), calls.end(), std::int64_t{0}), messages.inside + messages.between);
  EXPECT_NEAR(static_cast<double>(std::accumulate(handed.begin(), handed.end(), std::int64_t{0})),
              bytes * (messages.inside * messages.inside_size + messages.between * messages.between_size), 1e-6);
  if (named.choice->name == "bruck") return;  // whose messages count as those between nodes
  double inside = 0.0;
  for (int peer = 0; peer < comm.size(); ++peer)
    if (comm.node_of(peer) == comm.node_of(comm.rank())) inside += static_cast<double>(calls[peer]);
  EXPECT_EQ(inside, messages.inside);
}

TEST(SentBytes, GoInTheMessagesThatShapesCount) {
  const int ranks = Communicator(MPI_COMM_WORLD).size();
  for (const auto& leaders : all_leaders(ranks)) {
    const Communicator comm(MPI_COMM_WORLD, std::numeric_limits<int>::max(), leaders);
    const int per_node = static_cast<int>(std::ssize(comm.ranks_of(0)));
    if (per_node * comm.nodes() != ranks) continue;
    for (const char* name : {"linear", "linear_throttled:2", "persistent", "chunked:1", "chunked:4", "chunked:7",
                             "pairwise", "bruck:2", "bruck:3", "bruck:9", "node_aware", "rma_put"})
      if (const NamedExchange named = exchange_named(name); named.unusable(comm).empty())
        check_messages(comm, named, per_node);
  }
}

TEST(SentBytes, OfSeveralAreAddedAndForgottenBySection) {
  SentBytes sum(1, 3, 2), more(1, 3, 2);
  sum.add(0, 5, 7);
  sum.add(1, 100);
  more.add(0, 1);
  more.begin(1);
  more.add(2, 4);
  sum += more;
  EXPECT_EQ(sum.to_ranks(0).payload, (std::vector<std::int64_t>{6, 0, 0}));
  EXPECT_EQ(sum.to_ranks(0).sent, (std::vector<std::int64_t>{8, 0, 0}));
  EXPECT_EQ(sum.to_ranks(1).sent, (std::vector<std::int64_t>{0, 0, 4}));
  sum.begin(0);
  EXPECT_EQ(sum.to_ranks(0).payload, (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_EQ(sum.to_ranks(1).payload, (std::vector<std::int64_t>{0, 0, 4}));
}

}  // namespace
}  // namespace shardmark::comm
