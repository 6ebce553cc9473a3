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
#include <mutex>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/exchange/blocks.hpp"

namespace shardmark::comm {
namespace {

bool all_equal(std::span<const std::int64_t> counts) {
  return std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end();
}

/// Is a moment of a stream, which other streams can wait for.
class Event {
 public:
  Event() { check_cuda(cudaEventCreate(&event_), "cudaEventCreate"); }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }

  void record(cudaStream_t stream) { check_cuda(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  void hold_back(cudaStream_t stream) const {
    check_cuda(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }
  /// Returns the seconds from another moment to this one; both are over.
  double seconds_since(const Event& other) const {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, other.event_, event_), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Holds the moments of one exchange that is ordered with a stream: when its turn has come there and when it is done;
/// and, where the stream has had other work meanwhile, when that is done.
struct Moments {
  Event asked{}, done{}, others_done{};
  bool has_others = false;
};

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

  // Of the stream that it follows.
  cudaStream_t followed = nullptr;
  bool follows = false;
  std::vector<Moments> moments;        ///< more than `used`: steps like one before make none
  std::size_t used = 0, finished = 0;  ///< those behind `finished` are under way
  std::string_view last_name;
  std::int64_t last_bytes = -1;

  /// Lists those that follow a stream; `turn` is locked by who reads or changes it.
  static std::vector<State*>& followers(const std::lock_guard<std::mutex>&) {
    static std::vector<State*> all;
    return all;
  }
  static std::mutex& turn() {
    static std::mutex mutex;
    return mutex;
  }

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
    if (follows) {
      const std::lock_guard lock(turn());
      std::erase(followers(lock), this);
    }
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

  void follow(cudaStream_t other) {
    followed = other;
    if (std::exchange(follows, true)) return;
    const std::lock_guard lock(turn());
    followers(lock).push_back(this);
  }

  /// Makes calls(from, to) on memory of the GPU, as one group and one step of the stream. Waits for it, or leaves that
  /// to finish() where it follows a stream and nothing goes to the host.
  template <class Calls>
  void group(std::string_view name, const std::byte* send, std::int64_t bytes_sent, std::byte* receive,
             std::int64_t bytes_received, const Calls& calls) {
    if (bytes_sent == 0 && bytes_received == 0) return;  // no other rank expects anything
    if (nccl == nullptr) throw PeerFailed(name, "NCCL has been ended, as another rank has failed", -1, bytes_sent);
    select_gpu(comm);
    if (follows) begin_behind_followed(name, bytes_sent);
    const std::byte* from = send;
    if (bytes_sent > 0 && !on_gpu(send)) {
      std::byte* room = to_send.at_least(bytes_sent);
      copy(room, send, bytes_sent);
      from = room;
    }
    const bool to_host = bytes_received > 0 && !on_gpu(receive);
    std::byte* to = to_host ? received.at_least(bytes_received) : receive;
    check(ncclGroupStart(), "ncclGroupStart");
    try {
      calls(from, to);
    } catch (...) {
      ncclGroupEnd();  // or the calls of other communicators would join the group
      throw;
    }
    check(ncclGroupEnd(), name, -1, bytes_sent);
    if (follows) moments[used - 1].done.record(stream);
    if (follows && !to_host) return;
    wait(name, bytes_sent);
    if (to_host) {
      copy(receive, to, bytes_received);  // to pageable memory, it waits by itself: not for a peer that failed
      wait(name, bytes_sent);
    }
    finished = used;
  }

  void begin_behind_followed(std::string_view name, std::int64_t bytes) {
    last_name = name;
    last_bytes = bytes;
    if (used == moments.size()) moments.emplace_back();
    Moments& now = moments[used++];
    now.has_others = false;
    now.asked.record(followed);
    now.asked.hold_back(stream);
  }

  /// Has the stream that it follows wait for the first that is under way. others: the stream has had other work
  /// meanwhile.
  void finish(bool others) {
    if (finished == used) return;
    Moments& now = moments[finished++];
    now.has_others = others;
    if (others) now.others_done.record(followed);
    now.done.hold_back(followed);
  }

  ExchangeSeconds take_seconds() {
    ExchangeSeconds sum;
    for (std::size_t i = 0; i < used; ++i) {
      const Moments& one = moments[i];
      double all = one.done.seconds_since(one.asked);
      if (i > 0) all = std::min(all, one.done.seconds_since(moments[i - 1].done));  // they run one after the other
      sum.all += all;
      sum.exposed += one.has_others ? std::clamp(one.done.seconds_since(one.others_done), 0.0, all) : all;
    }
    used = finished = 0;
    return sum;
  }

  /// Throws where NCCL has found a failure, which it reports only when asked.
  void check_failures(std::string_view name, std::int64_t bytes) const {
    ncclResult_t failure = ncclSuccess;
    check(ncclCommGetAsyncError(nccl, &failure), "ncclCommGetAsyncError");
    if (failure == ncclRemoteError) throw PeerFailed(name, ncclGetErrorString(failure), -1, bytes);
    check(failure, name, -1, bytes);
  }

  /// Waits until the stream is done.
  void wait(std::string_view name, std::int64_t bytes) const {
    cudaError_t state = cudaErrorNotReady;
    while ((state = cudaStreamQuery(stream)) == cudaErrorNotReady) check_failures(name, bytes);
    check_cuda(state, name, bytes);
  }

  /// Ends what is under way, so that nothing on the GPU waits for ranks that have failed.
  void abort() {
    if (nccl != nullptr) ncclCommAbort(std::exchange(nccl, nullptr));
  }
};

void wait_for_stream(GpuStream stream) {
  const auto handle = static_cast<cudaStream_t>(stream.handle);
  cudaError_t state = cudaErrorNotReady;
  while ((state = cudaStreamQuery(handle)) == cudaErrorNotReady) {
    const std::lock_guard lock(Nccl::State::turn());
    const auto& all = Nccl::State::followers(lock);
    try {
      for (const Nccl::State* one : all)
        if (one->used > 0 && one->nccl != nullptr) one->check_failures(one->last_name, one->last_bytes);
    } catch (...) {
      for (Nccl::State* one : all) one->abort();  // or whoever frees memory behind them would wait for ever
      throw;
    }
  }
  check_cuda(state, "cudaStreamQuery");
}

ExchangeSeconds take_exchange_seconds() {
  ExchangeSeconds sum;
  const std::lock_guard lock(Nccl::State::turn());
  for (Nccl::State* one : Nccl::State::followers(lock)) {
    const ExchangeSeconds own = one->take_seconds();
    sum.all += own.all;
    sum.exposed += own.exposed;
  }
  return sum;
}

std::string Nccl::unusable(const Communicator& comm) { return no_own_gpus(comm); }

Nccl::Nccl(const Communicator& comm) : state_(std::make_unique<State>(comm)) {}

void Nccl::follow(GpuStream stream) { state_->follow(static_cast<cudaStream_t>(stream.handle)); }
bool Nccl::follows() const { return state_->follows; }

void Nccl::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  start(route, send, receive, element_bytes);
  state_->finish(false);
}

void Nccl::finish() { state_->finish(true); }

void Nccl::start(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
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

void Nccl::all_reduce(std::span<float> values) {
  State& s = *state_;
  const auto bytes = std::as_writable_bytes(values);
  s.group("ncclAllReduce", bytes.data(), std::ssize(bytes), bytes.data(), std::ssize(bytes),
          [&](const std::byte* from, std::byte* to) {
            s.check(ncclAllReduce(from, to, values.size(), ncclFloat, ncclSum, s.nccl, s.stream), "ncclAllReduce", -1,
                    std::ssize(bytes));
          });
}

}  // namespace shardmark::comm

#else

namespace shardmark::comm {

struct Nccl::State {};

std::string nccl_version() { return {}; }
std::string Nccl::unusable(const Communicator& comm) { return no_own_gpus(comm); }
Nccl::Nccl(const Communicator& comm) { throw MpiError("ncclCommInitRank", no_own_gpus(comm)); }
void wait_for_stream(GpuStream) {}
ExchangeSeconds take_exchange_seconds() { return {}; }
void Nccl::follow(GpuStream) {}
bool Nccl::follows() const { return false; }
void Nccl::run(const Route&, const std::byte*, std::byte*, std::int64_t) {}
void Nccl::start(const Route&, const std::byte*, std::byte*, std::int64_t) {}
void Nccl::finish() {}
void Nccl::reduce_scatter(std::span<const float>, std::span<const std::int64_t>, std::span<float>) {}
void Nccl::all_gather_v(const std::byte*, std::span<const std::int64_t>, std::byte*, std::int64_t) {}
void Nccl::all_reduce(std::span<float>) {}

}  // namespace shardmark::comm

#endif

namespace shardmark::comm {

Nccl::~Nccl() = default;

}  // namespace shardmark::comm
