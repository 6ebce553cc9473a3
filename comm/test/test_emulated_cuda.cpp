// SPDX-License-Identifier: Apache-2.0
// The GPUs of emulated_cuda.cpp find what they are for, and what this folder does where GPUs are few or fail.
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/device_memory.hpp"
#include "comm/exchange/exchanges.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "comm/exchange/nccl_transports.hpp"
#include "comm/mpi_error.hpp"
#include "comm/test/emulated_cuda.hpp"
#include "reference/error.hpp"

namespace shardmark::comm {
namespace {

class EmulatedCuda : public testing::Test {
 protected:
  void SetUp() override { set_emulated_gpus({}); }
  void TearDown() override {
    for (const cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    set_emulated_gpus({});
  }

  static float* on_gpu(std::size_t count = 1) {
    void* at = nullptr;
    EXPECT_EQ(cudaMalloc(&at, count * sizeof(float)), cudaSuccess);
    return static_cast<float*>(at);
  }
  static float* pinned() {
    void* at = nullptr;
    EXPECT_EQ(cudaMallocHost(&at, sizeof(float)), cudaSuccess);
    return static_cast<float*>(at);
  }
  cudaStream_t stream(unsigned flags) {
    cudaStream_t made = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&made, flags), cudaSuccess);
    streams_.push_back(made);
    return made;
  }
  static void copy(float* to, const float* from, cudaStream_t queue) {
    EXPECT_EQ(cudaMemcpyAsync(to, from, sizeof(float), cudaMemcpyDefault, queue), cudaSuccess);
  }
  /// By a stream of its own, which waits for nothing of others.
  float read(const float* from) {
    float value = 0;
    copy(&value, from, stream(cudaStreamNonBlocking));
    return value;
  }
  float* on_gpu_with(float value) {
    float* at = on_gpu();
    copy(at, &value, stream(cudaStreamNonBlocking));
    EXPECT_EQ(cudaStreamSynchronize(streams_.back()), cudaSuccess);
    return at;
  }

  const Communicator comm_{MPI_COMM_WORLD};

 private:
  std::vector<cudaStream_t> streams_;
};

TEST_F(EmulatedCuda, MemoryBeginsAsNan) { EXPECT_TRUE(std::isnan(read(on_gpu()))); }

using EmulatedCudaDeathTest = EmulatedCuda;

TEST_F(EmulatedCudaDeathTest, EndsWhereTheHostTouchesAGpusMemory) {
  if (comm_.rank() != 0) GTEST_SKIP() << "of rank 0 alone";
  volatile float* at = on_gpu(100);
  volatile float* kept = pinned();
  *kept = 1;
  EXPECT_DEATH(at[1] = 1, "rank 0: the host touches a GPU's memory: byte 4 of an allocation of 400");
  cudaFree(const_cast<float*>(at));
  EXPECT_DEATH(at[0] = 1, "the host touches a GPU's memory that is freed: byte 0 of an allocation of 400");
  cudaFreeHost(const_cast<float*>(kept));
  EXPECT_DEATH(*kept = 1, "the host touches pinned memory that is freed: byte 0 of an allocation of 4");
}

TEST_F(EmulatedCuda, AMissingWaitIsANan) {
  const float* from = on_gpu_with(3);
  for (const unsigned flags : {unsigned{cudaStreamDefault}, unsigned{cudaStreamNonBlocking}}) {
    float* to = on_gpu();
    const cudaStream_t queue = stream(flags);
    copy(to, from, queue);
    EXPECT_TRUE(std::isnan(read(to)));
    EXPECT_EQ(cudaStreamQuery(queue), cudaSuccess);
    EXPECT_EQ(read(to), 3);
  }
}

/// The legacy stream and others wait for each other, in both directions, but for those that are non-blocking.
TEST_F(EmulatedCuda, TheLegacyStreamIsOrderedAsInCuda) {
  const float* from = on_gpu_with(3);
  for (const unsigned flags : {unsigned{cudaStreamDefault}, unsigned{cudaStreamNonBlocking}}) {
    const bool ordered = flags == cudaStreamDefault;
    float *to = on_gpu(), *second = on_gpu(), value = 0;
    copy(to, from, stream(flags));
    EXPECT_EQ(cudaMemcpy(&value, to, sizeof value, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(!std::isnan(value), ordered);

    EXPECT_EQ(cudaMemcpy(second, from, sizeof value, cudaMemcpyDefault), cudaSuccess);  // may return before it is done
    copy(&value, second, stream(flags));
    EXPECT_EQ(!std::isnan(value), ordered);
  }
}

TEST_F(EmulatedCuda, ACopyFromPageableMemoryMayEndAfterCudaMemcpy) {
  float *to = on_gpu(), value = 3;
  EXPECT_EQ(cudaMemcpy(to, &value, sizeof value, cudaMemcpyDefault), cudaSuccess);
  EXPECT_TRUE(std::isnan(read(to)));
  copy_bytes(reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(&value), sizeof value);
  EXPECT_EQ(read(to), 3);
}

TEST_F(EmulatedCuda, PinnedMemoryIsReadLateAndPageableMemoryAtOnce) {
  float *late = pinned(), *first = on_gpu(), *second = on_gpu(), value = 3;
  const cudaStream_t queue = stream(cudaStreamNonBlocking);
  *late = 3;
  copy(first, late, queue);
  copy(second, &value, queue);
  *late = value = 4;
  EXPECT_EQ(cudaStreamSynchronize(queue), cudaSuccess);
  EXPECT_EQ(read(first), 4);
  EXPECT_EQ(read(second), 3);
  copy(late, second, queue);
  EXPECT_EQ(*late, 4);
  EXPECT_EQ(cudaStreamSynchronize(queue), cudaSuccess);
  EXPECT_EQ(*late, 3);
}

TEST_F(EmulatedCuda, EventsOrderStreams) {
  const float* from = on_gpu_with(3);
  float *between = on_gpu(), *to = on_gpu();
  const cudaStream_t first = stream(cudaStreamNonBlocking), second = stream(cudaStreamNonBlocking);
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  copy(between, from, first);
  EXPECT_EQ(cudaEventRecord(event, first), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
  copy(to, between, second);
  EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess);
  EXPECT_EQ(read(to), 3);
  float* again = on_gpu();
  copy(again, from, first);
  EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);  // behind the first copy, not this one
  EXPECT_TRUE(std::isnan(read(again)));
  EXPECT_EQ(cudaEventRecord(event, first), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(read(again), 3);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(EmulatedCuda, FreedMemoryIsFound) {
  float *to = on_gpu(), *gone = on_gpu_with(3), *late = pinned(), value = 0;
  const cudaStream_t queue = stream(cudaStreamNonBlocking);
  copy(to, gone, queue);
  EXPECT_EQ(cudaFree(gone), cudaSuccess);  // which waits for the copy
  EXPECT_EQ(read(to), 3);
  EXPECT_EQ(cudaFree(gone), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(to, gone, sizeof value, cudaMemcpyDefault, queue), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(to, to, 2 * sizeof value, cudaMemcpyDefault, queue), cudaErrorInvalidValue);
  copy(to, late, queue);
  EXPECT_EQ(cudaFreeHost(late), cudaSuccess);  // which need not wait
  EXPECT_EQ(cudaStreamSynchronize(queue), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorIllegalAddress) << "the error stays";
}

TEST_F(EmulatedCuda, AStreamThatIsDestroyedStillRuns) {
  float *to = on_gpu(), *gone = on_gpu_with(3);
  cudaStream_t queue = nullptr;
  cudaStreamCreateWithFlags(&queue, cudaStreamNonBlocking);
  copy(to, gone, queue);
  EXPECT_EQ(cudaStreamDestroy(queue), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(queue), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(read(to), 3);
}

class EmulatedNccl : public EmulatedCuda {
 protected:
  /// One GPU for each rank.
  ncclResult_t connect() {
    ncclUniqueId id{};
    const ncclResult_t code = comm_.rank() == 0 ? ncclGetUniqueId(&id) : ncclSuccess;
    broadcast(comm_, std::as_writable_bytes(std::span(&id, 1)), 0);
    return code != ncclSuccess ? code : ncclCommInitRank(&nccl_, comm_.size(), id, comm_.rank());
  }

  ncclComm_t nccl_ = nullptr;
};

TEST_F(EmulatedNccl, AddsUpWhenTheStreamRuns) {
  select_gpu(comm_);
  ASSERT_EQ(connect(), ncclSuccess);
  const float* from = on_gpu_with(static_cast<float>(comm_.rank() + 1));
  float* to = on_gpu();
  const cudaStream_t queue = stream(cudaStreamNonBlocking);
  EXPECT_EQ(ncclAllReduce(from, to, 1, ncclFloat, ncclSum, nccl_, queue), ncclSuccess);
  EXPECT_TRUE(std::isnan(read(to)));
  EXPECT_EQ(cudaStreamSynchronize(queue), cudaSuccess);
  EXPECT_EQ(read(to), static_cast<float>(comm_.size() * (comm_.size() + 1) / 2));
  EXPECT_EQ(ncclCommDestroy(nccl_), ncclSuccess);
}

TEST_F(EmulatedNccl, ReadsNeitherPageableMemoryNorThatOfAnotherGpu) {
  select_gpu(comm_);
  ASSERT_EQ(connect(), ncclSuccess);
  const cudaStream_t queue = stream(cudaStreamNonBlocking);
  float value = 1;
  EXPECT_EQ(ncclBroadcast(&value, on_gpu(), 1, ncclFloat, comm_.rank(), nccl_, queue), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(queue), cudaErrorIllegalAddress);
  set_emulated_gpus({});
  EXPECT_EQ(cudaSetDevice(7), cudaSuccess);
  const float* other = on_gpu();
  select_gpu(comm_);
  EXPECT_EQ(ncclBroadcast(other, on_gpu(), 1, ncclFloat, comm_.rank(), nccl_, queue), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(queue), cudaErrorIllegalAddress);
  ncclCommAbort(nccl_);
}

/// Without one of the two events, what is sent or what is copied behind is NaN.
TEST_F(EmulatedNccl, ExchangesTakeTheOrderOfTheStreamThatTheyFollow) {
  select_gpu(comm_);
  const int size = comm_.size();
  const Route route = exchange_counts(comm_, std::vector<std::int64_t>(size, 1));
  const float* own = on_gpu_with(static_cast<float>(comm_.rank() + 1));
  Nccl exchange(comm_);
  const cudaStream_t kernels = stream(cudaStreamNonBlocking);
  exchange.follow({kernels});
  for (const bool in_halves : {false, true}) {
    float *sent = on_gpu(size), *received = on_gpu(size), *between = on_gpu(), *behind = on_gpu();
    const auto* from = reinterpret_cast<const std::byte*>(sent);
    auto* to = reinterpret_cast<std::byte*>(received);
    for (int rank = 0; rank < size; ++rank) copy(sent + rank, own, kernels);
    if (in_halves) {
      exchange.start(route, from, to, sizeof(float));
      copy(between, own, kernels);
      cudaEvent_t event = nullptr;
      EXPECT_EQ(cudaEventCreate(&event), cudaSuccess);
      EXPECT_EQ(cudaEventRecord(event, kernels), cudaSuccess);
      EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
      EXPECT_EQ(read(between), static_cast<float>(comm_.rank() + 1)) << "which nothing keeps back";
      EXPECT_TRUE(std::isnan(read(received)));
      EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
      exchange.finish();
    } else {
      exchange.run(route, from, to, sizeof(float));
    }
    copy(behind, received + size - 1, kernels);
    EXPECT_TRUE(std::isnan(read(behind))) << "as the host has waited for nothing";
    wait_for_stream({kernels});
    EXPECT_EQ(read(behind), static_cast<float>(size));
    const ExchangeSeconds seconds = take_exchange_seconds();
    EXPECT_LE(seconds.exposed, seconds.all);
    EXPECT_EQ(take_exchange_seconds().all, 0.0);
  }
}

/// The last rank waits for what comes second while the others wait for what it has sent first.
TEST_F(EmulatedNccl, WhatIsSentGoesOnWhileTheHostWaitsForSomethingElse) {
  select_gpu(comm_);
  const int size = comm_.size(), last = size - 1;
  const bool sends = comm_.rank() == last;
  std::vector<std::int64_t> of_last(size, 0);
  if (sends) std::fill(of_last.begin(), of_last.end() - 1, 1);
  const Route first = exchange_counts(comm_, of_last),
              second = exchange_counts(comm_, std::vector<std::int64_t>(size, 1));
  const cudaStream_t kernels = stream(cudaStreamNonBlocking);
  Nccl from_last(comm_), among_all(comm_);
  from_last.follow({kernels});
  among_all.follow({kernels});
  const float* own = on_gpu_with(static_cast<float>(comm_.rank() + 1));
  float *sent = on_gpu(size), *received = on_gpu();
  for (int rank = 0; rank < size; ++rank) copy(sent + rank, own, kernels);
  from_last.start(first, reinterpret_cast<const std::byte*>(sent), reinterpret_cast<std::byte*>(received),
                  sizeof(float));
  if (!sends) from_last.finish();
  if (!sends) wait_for_stream({kernels});
  const std::vector<float> given(size, static_cast<float>(comm_.rank()));
  std::vector<float> taken(size), ranks(size);
  std::iota(ranks.begin(), ranks.end(), 0.0F);
  among_all.run(second, std::as_bytes(std::span(given)).data(), std::as_writable_bytes(std::span(taken)).data(),
                sizeof(float));
  EXPECT_EQ(taken, ranks);
  from_last.finish();
  wait_for_stream({kernels});
  if (!sends) {
    EXPECT_EQ(read(received), static_cast<float>(size));
  }
}

/// Sums in place, two under way: work of the stream that comes behind one waits for that one, and the host for none.
TEST_F(EmulatedNccl, SumsTakeTheOrderOfTheStreamThatTheyFollow) {
  select_gpu(comm_);
  const float* own = on_gpu_with(static_cast<float>(comm_.rank() + 1));
  const auto sum = static_cast<float>(comm_.size() * (comm_.size() + 1) / 2);
  Nccl nccl(comm_);
  const cudaStream_t kernels = stream(cudaStreamNonBlocking);
  nccl.follow({kernels});
  for (int round = 0; round < 2; ++round) {
    float *first = on_gpu(), *second = on_gpu(), *behind = on_gpu(), *behind_both = on_gpu();
    copy(first, own, kernels);
    nccl.all_reduce({first, 1});
    copy(second, own, kernels);
    nccl.all_reduce({second, 1});
    nccl.finish();
    copy(behind, first, kernels);
    nccl.finish();
    copy(behind_both, second, kernels);
    nccl.finish();  // ends nothing
    EXPECT_TRUE(std::isnan(read(behind))) << "as the host has waited for nothing";
    wait_for_stream({kernels});
    EXPECT_EQ(read(behind), sum);
    EXPECT_EQ(read(behind_both), sum);
    const ExchangeSeconds seconds = take_exchange_seconds();
    EXPECT_LE(seconds.exposed, seconds.all);
    EXPECT_EQ(take_exchange_seconds().all, 0.0);
  }
}

/// The stand-in writes lines as NCCL does, where the variables say so.
TEST_F(EmulatedNccl, SaysByWhatItSends) {
  const auto transports = nccl_transports(comm_);
  if (comm_.size() == 1) {
    EXPECT_TRUE(transports.empty());
  } else {
    const std::int64_t pairs = comm_.size() * (comm_.size() - 1);
    EXPECT_EQ(transports, (std::vector<NcclTransport>{{"EMULATED/MPI", false, pairs}}));
  }
  EXPECT_EQ(getenv("NCCL_DEBUG"), nullptr);
}

/// Where a user has asked NCCL for its lines they are not taken away.
TEST_F(EmulatedNccl, LeavesLinesToWhoAskedForThem) {
  setenv("NCCL_DEBUG", "INFO", 1);
  EXPECT_TRUE(nccl_transports(comm_).empty());
  EXPECT_STREQ(getenv("NCCL_DEBUG"), "INFO");
  unsetenv("NCCL_DEBUG");
}

TEST_F(EmulatedNccl, RefusesTwoRanksOnOneGpu) {
  const ncclResult_t code = connect();  // all on the first
  EXPECT_EQ(code, comm_.size() == 1 ? ncclSuccess : ncclInvalidUsage);
  if (code == ncclSuccess) ncclCommDestroy(nccl_);
}

/// What users read, and which GPU a rank takes.
class GpusOfRanks : public EmulatedCuda {
 protected:
  std::string host() const { return comm_.host_of(0); }
  /// This rank's GPU, as set_emulated_gpus() calls it.
  int taken(const Communicator& comm) const {
    select_gpu(comm);
    return number_of_emulated_gpu(current_emulated_gpu());
  }
};

TEST_F(GpusOfRanks, OneOfThoseThatAllSee) {
  EXPECT_EQ(no_own_gpus(comm_), "");
  EXPECT_EQ(taken(comm_), comm_.rank());
}

TEST_F(GpusOfRanks, TheOneThatTheLauncherGives) {
  set_emulated_gpus({.visible = {7 - comm_.rank()}});
  EXPECT_EQ(no_own_gpus(comm_), "");
  EXPECT_EQ(exchange_named("nccl").unusable(comm_), "");
  EXPECT_EQ(taken(comm_), 7 - comm_.rank());
}

TEST_F(GpusOfRanks, ASharedOneWhereNcclIsNotUsed) {
  set_emulated_gpus({.visible = {3, 5}});
  EXPECT_EQ(taken(comm_), comm_.rank() % 2 == 0 ? 3 : 5);
  EXPECT_EQ(exchange_named("host_staged").unusable(comm_), "");
  const std::string reason =
      "ranks 0 and 2 share GPU 0000:13:00 of " + host() + "; start one rank a GPU, or choose exchange host_staged";
  EXPECT_EQ(exchange_named("nccl").unusable(comm_), comm_.size() > 2 ? reason : "");
}

/// Simulated nodes of two ranks, each with GPUs of its own.
TEST_F(GpusOfRanks, OneOfEachNode) {
  std::vector<int> leaders(comm_.size());
  for (int rank = 0; rank < comm_.size(); ++rank) leaders[rank] = rank / 2 * 2;
  const Communicator nodes(MPI_COMM_WORLD, 1 << 30, leaders);
  const int first = comm_.rank() / 2 * 2;
  set_emulated_gpus({.visible = {first, first + 1}});
  EXPECT_EQ(no_own_gpus(nodes), "");
  EXPECT_EQ(taken(nodes), comm_.rank());
}

/// A thread that runs an exchange may have another as its current one.
TEST_F(GpusOfRanks, TheOneThatEachExchangeSelects) {
  for (const char* name : {"nccl", "host_staged", "device_aware"}) {
    const auto exchange = exchange_named(name).make(comm_);
    EXPECT_EQ(cudaSetDevice(7), cudaSuccess);
    const std::vector<std::byte> sent(comm_.size());
    std::vector<std::byte> received(sent.size());
    exchange->run(exchange_counts(comm_, std::vector<std::int64_t>(comm_.size(), 1)), sent.data(), received.data(), 1);
    EXPECT_EQ(number_of_emulated_gpu(current_emulated_gpu()), comm_.rank()) << name;
  }
}

TEST_F(GpusOfRanks, NoneIsRefusedByName) {
  const int last = comm_.size() - 1;
  const std::string rank = "rank " + std::to_string(last) + " (" + host() + ") ";
  const auto refused = [&](const EmulatedGpus& gpus) {
    set_emulated_gpus(comm_.rank() == last ? gpus : EmulatedGpus{});
    const std::string reason = no_own_gpus(comm_);
    for (const char* name : {"nccl", "host_staged", "device_aware"}) {
      EXPECT_EQ(exchange_named(name).unusable(comm_), reason);
      EXPECT_THROW(exchange_named(name).make(comm_), InputError);
    }
    return reason;
  };
  EXPECT_EQ(refused({.visible = {}}), rank + "sees no GPU; ask the launcher for one, as srun --gpus-per-task=1 does");
  EXPECT_EQ(refused({.driver = 0}), rank +
                                        "has no CUDA driver; start the program where there is a GPU, or install its "
                                        "driver");
  const std::string build = std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION / 10 % 100);
  EXPECT_EQ(refused({.driver = 11080}),
            rank + "has a driver for CUDA 11.8, and the program is of CUDA " + build + "; update the driver");
  EXPECT_EQ(refused({.lost_after = 0}),
            rank +
                "cannot use its GPUs (cudaGetDeviceCount: CUDA-capable device(s) is/are busy or unavailable); "
                "nvidia-smi shows their state");
}

TEST_F(GpusOfRanks, TooLittleMemoryIsReported) {
  set_emulated_gpus({.visible = {0}, .memory = 0});
  KeptMemory memory(KeptMemory::Place::gpu);
  try {
    memory.at_least(1000);
    FAIL() << "allocated";
  } catch (const MpiError& error) {
    EXPECT_STREQ(error.what(),
                 "cudaMalloc, 1000 bytes: out of memory: of its 0 bytes the GPU has 0 left; take a smaller batch, or "
                 "more ranks");
  }
}

/// At each call in turn the last rank loses its GPU: it reports that, others that a rank has failed, and none waits.
class LostGpu : public GpusOfRanks, public testing::WithParamInterface<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, LostGpu,
                         testing::Values("MemoryOfHosts", "MemoryOfGpus", "BehindAStream", "SumsBehindAStream"),
                         [](const auto& instance) { return instance.param; });

TEST_P(LostGpu, EndsTheExchangeOnAllRanks) {
  const Route route = exchange_counts(comm_, std::vector<std::int64_t>(comm_.size(), 1));
  const std::int64_t bytes = comm_.size();
  const bool lost = comm_.rank() == comm_.size() - 1;
  constexpr std::int64_t certain = 5;  // calls that every run makes
  std::int64_t calls = 0;
  for (std::int64_t call = -1; call < calls; ++call) {
    SCOPED_TRACE("call " + std::to_string(call) + " of " + std::to_string(calls));
    set_emulated_gpus({});
    KeptMemory sent(KeptMemory::Place::gpu), received(KeptMemory::Place::gpu);
    std::vector<std::byte> host(2 * bytes);
    select_gpu(comm_);
    const bool of_hosts = GetParam() == "MemoryOfHosts", sums = GetParam() == "SumsBehindAStream",
               follows = sums || GetParam() == "BehindAStream";
    std::byte* from = of_hosts ? host.data() : sent.at_least(std::max<std::int64_t>(bytes, sizeof(float)));
    std::byte* to = of_hosts ? host.data() + bytes : received.at_least(bytes);
    const cudaStream_t kernels = stream(cudaStreamNonBlocking);
    std::string error;
    try {
      Nccl nccl(comm_);
      if (follows) nccl.follow({kernels});
      barrier(comm_);
      const std::int64_t before = emulated_calls();
      if (lost && call >= 0) set_emulated_gpus({.lost_after = call});
      if (sums) {
        nccl.all_reduce({reinterpret_cast<float*>(from), 1});
        nccl.finish();
      } else {
        nccl.run(route, from, to, 1);
      }
      if (follows) wait_for_stream({kernels});
      // Of the calls that follow, how many wait depends on the others.
      if (call < 0) calls = all_reduce(comm_, std::min<std::int64_t>(emulated_calls() - before, 12), Reduce::min);
    } catch (const PeerFailed& failure) {
      EXPECT_FALSE(lost) << failure.what();
      const std::string named = sums ? "ncclAllReduce, 4" : "ncclSend, ncclRecv, " + std::to_string(bytes);
      EXPECT_STREQ(failure.what(), (named + " bytes: remote process exited or there was a network error").c_str());
    } catch (const MpiError& failure) {
      EXPECT_TRUE(lost) << failure.what();
      error = failure.what();
    }
    EXPECT_TRUE(!lost || call < 0 || call >= certain || !error.empty());
    EXPECT_TRUE(error.empty() || error.find("busy or unavailable") != std::string::npos ||
                error.find("unhandled cuda error") != std::string::npos)
        << error;
    barrier(comm_);
  }
  EXPECT_GE(calls, certain);
}

}  // namespace
}  // namespace shardmark::comm
