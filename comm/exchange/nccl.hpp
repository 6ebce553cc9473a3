// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>

#include "comm/exchange/exchange.hpp"

namespace shardmark::comm {

/// Returns the version of NCCL, such as "2.21.5"; empty in a build without CUDA.
std::string nccl_version();

/// Waits for the work of a stream, which exchanges that follow it may hold back. Where NCCL finds meanwhile that
/// another rank has ended, or another failure, it ends what waits for that and throws PeerFailed, or MpiError.
void wait_for_stream(GpuStream stream);

/// Holds seconds of exchanges that follow a stream, by the clock of the GPU: from when their turn has come there until
/// they are done; and those of them in which the stream had no other work.
struct ExchangeSeconds {
  double all = 0.0, exposed = 0.0;
};

/// Returns those of all exchanges of this process since the last call, which are done: wait_for_stream().
ExchangeSeconds take_exchange_seconds();

/// Runs one NCCL group of sends and receives on a stream of its own, with one GPU for each rank; what a rank sends to
/// itself is copied there. GPU memory is sent from where it lies, host memory by way of buffers on the GPU that are
/// kept. It is ordered with the stream that it follows by events; without one, run() returns when all has arrived.
/// MpiError names NCCL's call, peer and bytes; it is PeerFailed where NCCL sees that another rank has ended.
class Nccl : public Exchange {
 public:
  /// Gives a reason without CUDA, and where ranks have no GPU or share one: NCCL needs one for each.
  static std::string unusable(const Communicator& comm);

  explicit Nccl(const Communicator& comm);
  ~Nccl() override;

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;
  void start(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;
  void finish() override;
  bool reads_gpus() const override { return true; }
  void follow(GpuStream stream) override;
  bool follows() const override;

  /// Does what reduce_scatter() of comm/reduce_scatter.hpp does: by ncclReduceScatter where the counts are equal, else
  /// by a group of one ncclReduce for each rank. NCCL chooses the order of the additions. Where it follows a stream,
  /// finish() ends it, as start().
  void reduce_scatter(std::span<const float> send, std::span<const std::int64_t> counts, std::span<float> receive);

  /// Does what all_gather_v() of comm/collectives.hpp does: by ncclAllGather where the counts are equal, else by a
  /// group of one ncclBroadcast for each rank. Where it follows a stream, finish() ends it, as start().
  void all_gather_v(const std::byte* send, std::span<const std::int64_t> counts, std::byte* receive,
                    std::int64_t element_bytes);

  /// Adds the values of all ranks up in place, by ncclAllReduce: all ranks get the same bits. NCCL chooses the order of
  /// the additions, the same for as many values on the same GPUs. Where it follows a stream, finish() ends it; several
  /// may be under way, and finish() ends the first of them.
  void all_reduce(std::span<float> values);

 private:
  friend void wait_for_stream(GpuStream);
  friend ExchangeSeconds take_exchange_seconds();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shardmark::comm
