// SPDX-License-Identifier: Apache-2.0
// More than 2^31 bytes from rank 0 to the last rank: as elements of one byte, whose count exceeds an int, and by
// exchanges that hand counts of elements to a collective of MPI also as rows of 64 bytes, whose count does not. All
// others count bytes.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "comm/collectives.hpp"
#include "comm/exchange/named_exchange.hpp"

namespace shardmark::comm {
namespace {

constexpr std::int64_t bytes_carried = (std::int64_t{1} << 31) + (std::int64_t{1} << 20);
constexpr std::int64_t bytes_needed = 4 * bytes_carried;  // send, receive, and room for the rest of the machine

std::int64_t available_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  for (std::string word; meminfo >> word;) {
    std::int64_t kilobytes = 0;
    if (word == "MemAvailable:" && meminfo >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

/// What 8-byte word i holds: never 0.
std::uint64_t word(std::int64_t i) { return static_cast<std::uint64_t>(i + 1) * 0x9E3779B97F4A7C15ULL; }

/// Gives memory in huge pages: the system copies messages between processes page by page.
class Buffer {
 public:
  bool empty() const { return !bytes_; }
  void allocate() {
    constexpr std::size_t page = std::size_t{2} << 20;
    bytes_.reset(std::aligned_alloc(page, bytes_carried / page * page + page));
    madvise(bytes_.get(), bytes_carried, MADV_HUGEPAGE);
  }
  void clear() { bytes_.reset(); }
  std::span<std::uint64_t> words() const {
    return {static_cast<std::uint64_t*>(bytes_.get()), empty() ? std::size_t{0} : std::size_t{bytes_carried / 8}};
  }

 private:
  struct Free {
    void operator()(void* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<void, Free> bytes_;
};

std::int64_t count_wrong(std::span<const std::uint64_t> words) {
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < words.size(); ++i) wrong += words[i] != word(i) ? 1 : 0;
  return wrong;
}

struct Case {
  NamedExchange exchange;
  std::int64_t element_bytes;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& exchange : all_exchanges()) {
    all.push_back({exchange, 1});
    if (std::string_view(exchange.choice->name).starts_with("mpi_")) all.push_back({exchange, 64});
  }
  return all;
}

/// Both buffers live as long as the suite: to touch new memory takes longer than to carry it.
class LargeExchanges : public testing::TestWithParam<Case> {
 protected:
  static void TearDownTestSuite() {
    send_.clear();
    receive_.clear();
  }
  static inline Buffer send_, receive_;
};

INSTANTIATE_TEST_SUITE_P(All, LargeExchanges, testing::ValuesIn(cases()), [](const auto& instance) {
  return std::string(instance.param.exchange.choice->name) + "_" + std::to_string(instance.param.element_bytes);
});

TEST_P(LargeExchanges, CarryMoreThanTwoToThe31Bytes) {
  const Communicator comm(MPI_COMM_WORLD);
  const bool first_case = send_.empty() && receive_.empty();
  const auto available = all_reduce(comm, first_case ? available_bytes() : bytes_needed, Reduce::min);
  if (available < bytes_needed)
    GTEST_SKIP() << "needs " << (bytes_needed >> 30) << " GiB of available memory, found " << (available >> 30);

  if (const auto reason = GetParam().exchange.unusable(comm); !reason.empty()) GTEST_SKIP() << reason;
  if (comm.size() == 1 && GetParam().element_bytes > 1) GTEST_SKIP() << "a rank copies its own bytes, of any element";

  const int last = comm.size() - 1;
  std::vector<std::int64_t> counts(comm.size(), 0);
  if (comm.rank() == 0) counts.back() = bytes_carried / GetParam().element_bytes;
  const Route route = exchange_counts(comm, counts);

  if (comm.rank() == 0 && send_.empty()) {
    send_.allocate();
    for (std::int64_t i = 0; std::uint64_t & each : send_.words()) each = word(i++);
  }
  if (comm.rank() == last) {
    if (receive_.empty()) receive_.allocate();
    std::ranges::fill(receive_.words(), 0);
  }
  const auto exchange = GetParam().exchange.make(comm);
  exchange->run(route, std::as_bytes(send_.words()).data(), std::as_writable_bytes(receive_.words()).data(),
                GetParam().element_bytes);
  EXPECT_EQ(count_wrong(receive_.words()), 0);
}

}  // namespace
}  // namespace shardmark::comm
