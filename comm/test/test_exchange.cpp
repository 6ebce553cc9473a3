// SPDX-License-Identifier: Apache-2.0
// Every exchange against MPI_Alltoallv on random skewed routes, with MPI's own limit of counts and with low ones that
// send the same data on the road of more than 2^31 elements.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "comm/collectives.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "comm/test/some_calibration.hpp"
#include "comm/waiting.hpp"

namespace shardmark::comm {
namespace {

using Bytes = std::vector<std::byte>;
using Matrix = std::vector<std::vector<std::int64_t>>;  // elements [from][to]

/// The same matrix on every rank: mostly small counts, a third of them zero; of each five seeds one has a rank that
/// neither sends nor receives, one a rank that receives nearly all, one a rank that sends nearly all, one nothing at
/// all.
Matrix random_matrix(unsigned seed, std::size_t ranks) {
  std::mt19937_64 random(seed);
  Matrix matrix(ranks, std::vector<std::int64_t>(ranks));
  const std::size_t special = random() % ranks;
  for (std::size_t from = 0; from < ranks; ++from) {
    for (std::size_t to = 0; to < ranks; ++to) {
      auto& count = matrix[from][to];
      count = random() % 3 == 0 ? 0 : random() % 40;
      if (seed % 5 == 1 && (from == special || to == special)) count = 0;
      if (seed % 5 == 2 && to == special) count += 200;
      if (seed % 5 == 3 && from == special) count += 200;
      if (seed % 5 == 4) count = 0;
    }
  }
  return matrix;
}

/// Byte b of element k of the message from -> to: each differs from its neighbours in all four.
std::byte tag(std::size_t from, std::size_t to, std::int64_t k, std::int64_t b) {
  const auto mixed = (from * 1000003 + to * 10007 + k * 101 + b) * 0x9E3779B97F4A7C15ULL;
  return static_cast<std::byte>(mixed >> 56);
}

void append_message(Bytes& bytes, std::size_t from, std::size_t to, std::int64_t count, std::int64_t element_bytes) {
  const std::size_t before = bytes.size();
  bytes.resize(before + count * element_bytes);
  std::byte* next = bytes.data() + before;
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t b = 0; b < element_bytes; ++b) *next++ = tag(from, to, k, b);
}

Bytes by_mpi(const Route& route, const Bytes& send, std::int64_t element_bytes) {
  const Route bytes = route.scaled(element_bytes);
  const auto ints = [](const auto& counts) { return std::vector<int>(counts.begin(), counts.end()); };
  Bytes receive(bytes.receive_total());
  MPI_Alltoallv(send.data(), ints(bytes.send_counts()).data(), ints(bytes.send_offsets()).data(), MPI_BYTE,
                receive.data(), ints(bytes.receive_counts()).data(), ints(bytes.receive_offsets()).data(), MPI_BYTE,
                MPI_COMM_WORLD);
  return receive;
}

struct Case {
  NamedExchange exchange;
  std::int64_t count_limit;
  /// 0: the real nodes; n > 0: n neighbours on a node; n < 0: rank r on node r mod -n
  int pretended;
};

std::vector<int> leaders_of(int pretended) {
  std::vector<int> leaders;
  if (pretended == 0) return leaders;
  const int ranks = Communicator(MPI_COMM_WORLD).size();
  for (int rank = 0; rank < ranks; ++rank)
    leaders.push_back(pretended > 0 ? rank / pretended * pretended : rank % -pretended);
  return leaders;
}

/// The defaults, the least numbers, one more than they, and one that is larger than the number of ranks.
std::vector<NamedExchange> exchanges_with_numbers() {
  std::vector<NamedExchange> all = all_exchanges();
  for (const auto& exchange : all_exchanges()) {
    const ExchangeNumber& number = exchange.choice->number;
    if (!number.taken()) continue;
    for (const int n : {number.least, number.least + 1, 100})
      if (n != number.by_default) all.push_back({exchange.choice, n});
  }
  return all;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& exchange : exchanges_with_numbers())
    for (const std::int64_t limit : {std::numeric_limits<int>::max(), 37}) {
      if (!exchange.choice->name.starts_with("node_")) all.push_back({exchange, limit, 0});
      if (exchange.choice->name.starts_with("node_"))
        for (const int pretended : {1, 2, 3, 4, -2, -3}) all.push_back({exchange, limit, pretended});
    }
  return all;
}

std::string label(const NamedExchange& exchange) {
  std::string name = exchange.name();
  std::ranges::replace(name, ':', '_');
  return name;
}

class Exchanges : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (const auto reason = GetParam().exchange.unusable(comm_); !reason.empty()) GTEST_SKIP() << reason;
    set_calibration(comm_, some_calibration(comm_));
    exchange_ = GetParam().exchange.make(comm_);
  }

  const Communicator comm_{MPI_COMM_WORLD, GetParam().count_limit, leaders_of(GetParam().pretended)};
  const std::size_t self_ = comm_.rank();
  const std::size_t ranks_ = comm_.size();
  std::unique_ptr<Exchange> exchange_;
};

INSTANTIATE_TEST_SUITE_P(All, Exchanges, testing::ValuesIn(cases()), [](const auto& instance) {
  return label(instance.param.exchange) + "_limit_" + std::to_string(instance.param.count_limit) +
         (instance.param.pretended > 0   ? "_neighbours_" + std::to_string(instance.param.pretended)
          : instance.param.pretended < 0 ? "_nodes_" + std::to_string(-instance.param.pretended)
                                         : "");
});

TEST_P(Exchanges, CarryEveryElementThereAndBack) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const Matrix matrix = random_matrix(seed, ranks_);
    const Route route = exchange_counts(comm_, matrix[self_]);
    set_waiting(seed % 3 == 0 ? Waiting::sleep : Waiting::poll);
    for (const std::int64_t element_bytes : {1, 12, 64}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", element of " + std::to_string(element_bytes) + " bytes, rank " +
                   std::to_string(self_));
      Bytes send, expected;
      for (std::size_t peer = 0; peer < ranks_; ++peer) {
        append_message(send, self_, peer, matrix[self_][peer], element_bytes);
        append_message(expected, peer, self_, matrix[peer][self_], element_bytes);
      }
      Bytes there(expected.size(), std::byte{0xEE});
      exchange_->run(route, send.data(), there.data(), element_bytes);
      EXPECT_EQ(there == expected, true);
      EXPECT_EQ(there == by_mpi(route, send, element_bytes), true);

      Bytes back(send.size(), std::byte{0xEE});
      exchange_->run(route.inverse(), there.data(), back.data(), element_bytes);
      EXPECT_EQ(back == send, true);
    }
  }
  set_waiting(Waiting::poll);
}

/// Between routes of the same seed, so that what is kept of one route is met by another.
TEST_P(Exchanges, KeepRoutesApart) {
  constexpr std::int64_t element_bytes = 4;
  std::vector<Route> routes;
  std::vector<Matrix> matrices;
  for (unsigned seed = 1; seed <= 18; ++seed) {
    matrices.push_back(random_matrix(seed, ranks_));
    routes.push_back(exchange_counts(comm_, matrices.back()[self_]));
  }
  std::mt19937_64 random(3);
  for (int run = 0; run < 40; ++run) {
    const std::size_t r = random() % routes.size();
    SCOPED_TRACE("run " + std::to_string(run) + ", route " + std::to_string(r) + ", rank " + std::to_string(self_));
    Bytes source, expected;
    for (std::size_t peer = 0; peer < ranks_; ++peer) {
      append_message(source, self_, peer, matrices[r][self_][peer], element_bytes);
      append_message(expected, peer, self_, matrices[r][peer][self_], element_bytes);
    }
    Bytes receive(expected.size(), std::byte{0xEE});
    exchange_->run(routes[r], source.data(), receive.data(), element_bytes);
    EXPECT_EQ(receive == expected, true);
  }
}

/// What was set up for a route of few peers still holds after one of many.
TEST_P(Exchanges, ReturnToANarrowRouteAfterAWideOne) {
  std::vector<std::int64_t> to_next(ranks_, 0);
  to_next[(self_ + 1) % ranks_] = 3;
  const std::size_t before = (self_ + ranks_ - 1) % ranks_;
  const Route narrow = exchange_counts(comm_, to_next);
  const Route wide = exchange_counts(comm_, std::vector<std::int64_t>(ranks_, 2));
  for (const bool is_narrow : {true, false, true}) {
    const Route& route = is_narrow ? narrow : wide;
    const Bytes send(route.send_total(), static_cast<std::byte>(self_));
    Bytes receive(route.receive_total(), std::byte{0xEE}), expected;
    for (std::size_t from = 0; from < ranks_; ++from)
      expected.insert(expected.end(), is_narrow ? (from == before ? 3 : 0) : 2, static_cast<std::byte>(from));
    exchange_->run(route, send.data(), receive.data(), 1);
    EXPECT_EQ(receive == expected, true);
  }
}

TEST_P(Exchanges, LeaveBytesBeyondTheRouteAlone) {
  const Route route = exchange_counts(comm_, std::vector<std::int64_t>(ranks_, 3));
  const Bytes send(3 * ranks_, std::byte{1});
  Bytes receive(3 * ranks_ + 5, std::byte{7});
  exchange_->run(route, send.data(), receive.data(), 1);
  EXPECT_EQ(std::count(receive.begin(), receive.end(), std::byte{7}), 5);
  EXPECT_EQ(receive.back(), std::byte{7});
}

TEST_P(Exchanges, CarryRowsOfTypedValues) {
  constexpr std::int64_t dim = 3;
  const Route route = exchange_counts(comm_, std::vector<std::int64_t>(ranks_, 2));
  std::vector<float> send, receive(ranks_ * 2 * dim);
  for (std::size_t i = 0; i < ranks_ * 2 * dim; ++i) send.push_back(static_cast<float>(1000 * self_ + i));
  run(*exchange_, route, std::span<const float>(send), std::span(receive), dim);
  for (std::size_t from = 0; from < ranks_; ++from) {
    for (std::size_t j = 0; j < 2 * dim; ++j) {
      EXPECT_EQ(receive[from * 2 * dim + j], static_cast<float>(1000 * from + self_ * 2 * dim + j));
    }
  }
  EXPECT_THROW(run(*exchange_, route, std::span<const float>(send), std::span(receive), dim + 1),
               std::invalid_argument);
}

TEST_P(Exchanges, AcceptNullForNothing) {
  const Route route = exchange_counts(comm_, std::vector<std::int64_t>(ranks_, 0));
  exchange_->run(route, nullptr, nullptr, 8);
}

/// Of ranks that only send, or only receive, both parts of one array may begin at one place.
TEST_P(Exchanges, TakeOneArrayForWhatIsSentAndForWhatComes) {
  constexpr std::int64_t count = 3;
  for (const Waiting path : {Waiting::poll, Waiting::sleep}) {
    set_waiting(path);
    std::vector<std::int64_t> counts(ranks_, 0);
    if (self_ > 0) counts[0] = count;
    const Route route = exchange_counts(comm_, counts);
    Bytes array(count * ranks_, std::byte{static_cast<unsigned char>(self_)});
    exchange_->run(route, array.data(), array.data(), 1);
    for (std::size_t from = 1; self_ == 0 && from < ranks_; ++from)
      EXPECT_EQ(array[count * (from - 1)], std::byte{static_cast<unsigned char>(from)});
  }
  set_waiting(Waiting::poll);
}

TEST_P(Exchanges, RefuseARouteOfOtherRanks) {
  const std::vector<std::int64_t> counts(ranks_ + 1, 0);
  EXPECT_THROW(exchange_->run(Route(counts, counts, 0), nullptr, nullptr, 8), std::invalid_argument);
}

}  // namespace
}  // namespace shardmark::comm
