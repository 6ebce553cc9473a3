// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/nccl.hpp"

#include "comm/device_memory.hpp"
#include "comm/mpi_error.hpp"

#ifdef SHARDMARK_WITH_CUDA

#include <cuda_runtime.h>
#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <exception>
#include <functional>

#include "comm/collectives.hpp"
#include "comm/exchange/blocks.hpp"

namespace shardmark::comm {
namespace {

bool all_equal(std::span<const std::int64_t> counts) {
  return std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end();
}

}  // namespace

std::string nccl_version() {
  int version = 0;  // 10000 major + 100 minor + patch
  if (ncclGetVersion(&version) != ncclSuccess) return {};
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

/// NCCL's communicator, its stream and the buffers for host memory.
struct Nccl::State {
  const Communicator& comm;
  ncclComm_t nccl = nullptr;
  cudaStream_t stream = nullptr;
  KeptMemory to_send{KeptMemory::Place::gpu};
  KeptMemory received{KeptMemory::Place::gpu};

  explicit State(const Communicator& group) : comm(group) {
    select_gpu(comm);
    ncclUniqueId id{};
    if (comm.rank() == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    broadcast(comm, std::as_writable_bytes(std::span(&id, 1)), 0);
    check(ncclCommInitRank(&nccl, comm.size(), id, comm.rank()), "ncclCommInitRank");
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }

  /// ncclCommDestroy waits for the other ranks, which a rank that unwinds alone must not.
  ~State() {
    if (nccl != nullptr) std::uncaught_exceptions() == 0 ? ncclCommDestroy(nccl) : ncclCommAbort(nccl);
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void check(ncclResult_t code, std::string_view call, int peer = -1, std::int64_t bytes = -1) const {
    if (code == ncclSuccess) return;
    throw MpiError(call, std::string(ncclGetErrorString(code)) + ": " + ncclGetLastError(nccl), peer, bytes);
  }

  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) const {
    if (bytes > 0) check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync", bytes);
  }

  /// Makes calls(from, to) on memory of the GPU, as one group and one step of the stream, and waits for it.
  template <class Calls>
  void group(std::string_view name, const std::byte* send, std::int64_t bytes_sent, std::byte* receive,
             std::int64_t bytes_received, const Calls& calls) {
    select_gpu(comm);
    const std::byte* from = send;
    if (!on_gpu(send)) {
      std::byte* room = to_send.at_least(bytes_sent);
      copy(room, send, bytes_sent);
      from = room;
    }
    std::byte* to = on_gpu(receive) ? receive : received.at_least(bytes_received);
    check(ncclGroupStart(), "ncclGroupStart");
    try {
      calls(from, to);
    } catch (...) {
      ncclGroupEnd();  // or the calls of other communicators would join the group
      throw;
    }
    check(ncclGroupEnd(), name, -1, bytes_sent);
    wait(name, bytes_sent);
    if (to == receive) return;
    copy(receive, to, bytes_received);  // to pageable memory, it waits by itself: not for a peer that failed
    wait(name, bytes_sent);
  }

  /// Waits until the stream is done; NCCL reports a peer that failed only when asked.
  void wait(std::string_view name, std::int64_t bytes) const {
    cudaError_t state = cudaErrorNotReady;
    while ((state = cudaStreamQuery(stream)) == cudaErrorNotReady) {
      ncclResult_t failure = ncclSuccess;
      check(ncclCommGetAsyncError(nccl, &failure), "ncclCommGetAsyncError");
      if (failure == ncclRemoteError) throw PeerFailed(name, ncclGetErrorString(failure), -1, bytes);
      check(failure, name, -1, bytes);
    }
    check_cuda(state, name, bytes);
  }
};

std::string Nccl::unusable(const Communicator& comm) { return no_own_gpus(comm); }

Nccl::Nccl(const Communicator& comm) : state_(std::make_unique<State>(comm)) {}

void Nccl::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  State& s = *state_;
  if (route.size() != s.comm.size()) throw std::invalid_argument("nccl: a route of another number of ranks");
  s.group("ncclSend, ncclRecv", send, route.send_total() * element_bytes, receive,
          route.receive_total() * element_bytes, [&](const std::byte* from, std::byte* to) {
            const Blocks blocks(s.comm, route, from, to, element_bytes);
            const auto own = blocks.to(s.comm.rank());
            s.copy(blocks.from(s.comm.rank()).data(), own.data(), std::ssize(own));
            for (int distance = 1; distance < s.comm.size(); ++distance) {
              const int target = rank_after(s.comm, distance), source = rank_before(s.comm, distance);
              const auto out = blocks.to(target);
              const auto in = blocks.from(source);
              if (!out.empty())
                s.check(ncclSend(out.data(), out.size(), ncclUint8, target, s.nccl, s.stream), "ncclSend", target,
                        std::ssize(out));
              if (!in.empty())
                s.check(ncclRecv(in.data(), in.size(), ncclUint8, source, s.nccl, s.stream), "ncclRecv", source,
                        std::ssize(in));
            }
          });
}

void Nccl::reduce_scatter(std::span<const float> send, std::span<const std::int64_t> counts, std::span<float> receive) {
  State& s = *state_;
  const auto offsets = exclusive_scan(counts);
  const std::int64_t own = counts[s.comm.rank()];
  if (std::ssize(send) < offsets.back() || std::ssize(receive) < own)
    throw std::invalid_argument("nccl: a buffer is smaller than the counts");
  constexpr auto width = static_cast<std::int64_t>(sizeof(float));
  s.group("ncclReduceScatter", std::as_bytes(send).data(), offsets.back() * width,
          std::as_writable_bytes(receive).data(), own * width, [&](const std::byte* from, std::byte* to) {
            if (all_equal(counts))
              return s.check(ncclReduceScatter(from, to, own, ncclFloat, ncclSum, s.nccl, s.stream),
                             "ncclReduceScatter", -1, offsets.back() * width);
            for (int root = 0; root < s.comm.size(); ++root) {
              const std::int64_t count = counts[root];
              if (count > 0)
                s.check(ncclReduce(from + offsets[root] * width, to, count, ncclFloat, ncclSum, root, s.nccl, s.stream),
                        "ncclReduce", root, count * width);
            }
          });
}

void Nccl::all_gather_v(const std::byte* send, std::span<const std::int64_t> counts, std::byte* receive,
                        std::int64_t element_bytes) {
  State& s = *state_;
  const auto offsets = exclusive_scan(counts);
  const std::int64_t own = counts[s.comm.rank()] * element_bytes;
  s.group(
      "ncclAllGather", send, own, receive, offsets.back() * element_bytes, [&](const std::byte* from, std::byte* to) {
        if (all_equal(counts))
          return s.check(ncclAllGather(from, to, own, ncclUint8, s.nccl, s.stream), "ncclAllGather", -1, own);
        for (int root = 0; root < s.comm.size(); ++root) {
          const std::int64_t bytes = counts[root] * element_bytes;
          if (bytes > 0)
            s.check(ncclBroadcast(from, to + offsets[root] * element_bytes, bytes, ncclUint8, root, s.nccl, s.stream),
                    "ncclBroadcast", root, bytes);
        }
      });
}

}  // namespace shardmark::comm

#else

namespace shardmark::comm {

struct Nccl::State {};

std::string nccl_version() { return {}; }
std::string Nccl::unusable(const Communicator& comm) { return no_own_gpus(comm); }
Nccl::Nccl(const Communicator& comm) { throw MpiError("ncclCommInitRank", no_own_gpus(comm)); }
void Nccl::run(const Route&, const std::byte*, std::byte*, std::int64_t) {}
void Nccl::reduce_scatter(std::span<const float>, std::span<const std::int64_t>, std::span<float>) {}
void Nccl::all_gather_v(const std::byte*, std::span<const std::int64_t>, std::byte*, std::int64_t) {}

}  // namespace shardmark::comm

#endif

namespace shardmark::comm {

Nccl::~Nccl() = default;

}  // namespace shardmark::comm
