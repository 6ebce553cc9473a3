// SPDX-License-Identifier: Apache-2.0
// The exchanges for memory of GPUs and all reductions, on memory of GPUs, and NCCL's on memory of hosts. Skipped where
// these ranks have none.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <random>

#include "comm/collectives.hpp"
#include "comm/device_memory.hpp"
#include "comm/exchange/exchanges.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "comm/reduce_scatter.hpp"
#include "comm/reduction/reductions.hpp"
#include "comm/waiting.hpp"
#include "reference/error.hpp"

namespace shardmark::comm {
namespace {

using Bytes = std::vector<std::byte>;

/// A copy on this rank's GPU.
class OnGpu {
 public:
  explicit OnGpu(const Bytes& bytes) : bytes_(std::ssize(bytes)) { copy_bytes(data(), bytes.data(), bytes_); }
  std::byte* data() { return memory_.at_least(bytes_); }
  Bytes read() {
    Bytes bytes(bytes_);
    copy_bytes(bytes.data(), data(), bytes_);
    return bytes;
  }

 private:
  KeptMemory memory_{KeptMemory::Place::gpu};
  std::int64_t bytes_;
};

class DeviceExchange : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const NamedExchange named = exchange_named(GetParam());
    if (const std::string reason = named.unusable(comm_); !reason.empty()) {
      EXPECT_THROW(named.make(comm_), InputError);
      GTEST_SKIP() << GetParam() << ": " << reason;
    }
    select_gpu(comm_);
    exchange_ = named.make(comm_);
  }

  const Communicator comm_{MPI_COMM_WORLD};
  const std::size_t self_ = comm_.rank();
  const std::size_t ranks_ = comm_.size();
  std::unique_ptr<Exchange> exchange_;
};

INSTANTIATE_TEST_SUITE_P(All, DeviceExchange, testing::Values("nccl", "host_staged", "device_aware"),
                         [](const auto& instance) { return std::string(instance.param); });

/// Counts of 0 to 40 elements, a third of them 0; as pairwise carries them in host memory, however threads wait.
TEST_P(DeviceExchange, CarriesWhatPairwiseCarries) {
  const auto pairwise = exchange_named("pairwise").make(comm_);
  for (unsigned seed = 1; seed <= 5; ++seed) {
    set_waiting(std::array{Waiting::poll, Waiting::sleep, Waiting::messages}[seed % 3]);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", rank " + std::to_string(self_));
    std::mt19937_64 random(seed * 1000 + self_);
    std::vector<std::int64_t> counts(ranks_);
    for (auto& count : counts) count = random() % 3 == 0 ? 0 : random() % 41;
    const Route route = exchange_counts(comm_, counts);
    for (const std::int64_t width : {1, 12, 256}) {
      Bytes send(route.send_total() * width);
      for (auto& byte : send) byte = static_cast<std::byte>(random());
      Bytes expected(route.receive_total() * width);
      pairwise->run(route, send.data(), expected.data(), width);

      OnGpu from(send), to{Bytes(expected.size())}, back{Bytes(send.size())};
      exchange_->run(route, from.data(), to.data(), width);
      EXPECT_EQ(to.read() == expected, true);
      exchange_->run(route.inverse(), to.data(), back.data(), width);
      EXPECT_EQ(back.read() == send, true);
    }
  }
  set_waiting(Waiting::poll);
}

class NcclReductions : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (const std::string reason = Nccl::unusable(comm_); !reason.empty()) GTEST_SKIP() << "nccl: " << reason;
    for (std::size_t rank = 0; rank < counts_.size(); ++rank) counts_[rank] = GetParam() ? 5 : 3 * rank;
  }

  /// Small whole numbers: sums are exact in any order.
  std::vector<float> values(std::int64_t count) const {
    std::vector<float> all(count);
    std::iota(all.begin(), all.end(), static_cast<float>(100 * comm_.rank()));
    return all;
  }
  std::int64_t total() const { return exclusive_scan(counts_).back(); }
  std::int64_t own() const { return counts_[comm_.rank()]; }

  const Communicator comm_{MPI_COMM_WORLD};
  std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(comm_.size());
};

INSTANTIATE_TEST_SUITE_P(All, NcclReductions, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "EqualCounts" : "UnevenCounts"; });

TEST_P(NcclReductions, AddWhatMpiAdds) {
  const std::vector<float> send = values(total());
  std::vector<float> expected(own()), received(expected.size());
  reduce_scatter(comm_, send, counts_, expected);
  Nccl(comm_).reduce_scatter(send, counts_, received);
  EXPECT_EQ(received, expected);
}

TEST_P(NcclReductions, AddUpInPlaceWhatMpiAdds) {
  std::vector<float> found = values(total()), expected = found;
  all_reduce(comm_, std::span(expected), Reduce::sum);
  Nccl(comm_).all_reduce(found);
  EXPECT_EQ(found, expected);
}

TEST_P(NcclReductions, GatherWhatMpiGathers) {
  const std::vector<float> send = values(own());
  std::vector<float> expected(total()), received(expected.size());
  all_gather_v(comm_, std::span<const float>(send), counts_, std::span(expected));
  Nccl(comm_).all_gather_v(std::as_bytes(std::span(send)).data(), counts_,
                           std::as_writable_bytes(std::span(received)).data(), sizeof(float));
  EXPECT_EQ(received, expected);
}

/// Reductions other than NCCL's go by way of the host.
TEST(DeviceReductions, DoOnGpusWhatMpiDoesOnHosts) {
  const Communicator comm(MPI_COMM_WORLD);
  if (const std::string reason = no_gpus(comm); !reason.empty()) GTEST_SKIP() << reason;
  select_gpu(comm);
  std::vector<std::int64_t> counts(comm.size());
  for (std::size_t rank = 0; rank < counts.size(); ++rank) counts[rank] = 3 * rank + 1;
  std::vector<float> send(exclusive_scan(counts).back()), sums(counts[comm.rank()]), all(send.size());
  std::iota(send.begin(), send.end(), static_cast<float>(100 * comm.rank()));
  reduce_scatter(comm, send, counts, sums);
  all_gather_v(comm, std::span<const float>(sums), counts, std::span(all));

  const auto bytes = [](const std::vector<float>& values) {
    const auto view = std::as_bytes(std::span(values));
    return Bytes(view.begin(), view.end());
  };
  const auto floats = [](OnGpu& memory, const std::vector<float>& like) {
    return std::span(reinterpret_cast<float*>(memory.data()), like.size());
  };
  for (const ReductionChoice& choice : reductions) {
    SCOPED_TRACE(choice.name);
    if (!choice.unusable(comm).empty()) continue;
    const auto reduction = choice.make(comm);
    reduction->lay_out(counts);
    OnGpu from(bytes(send)), to{Bytes(bytes(sums).size())}, gathered{Bytes(bytes(all).size())};
    reduction->reduce_scatter(floats(from, send), floats(to, sums));
    EXPECT_EQ(to.read() == bytes(sums), true);
    reduction->all_gather(floats(to, sums), floats(gathered, all));
    EXPECT_EQ(gathered.read() == bytes(all), true);
  }
}

}  // namespace
}  // namespace shardmark::comm
