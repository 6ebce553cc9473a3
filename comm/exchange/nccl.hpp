// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>

#include "comm/exchange/exchange.hpp"

namespace shardmark::comm {

/// Returns the version of NCCL, such as "2.21.5"; empty in a build without CUDA.
std::string nccl_version();

/// Runs one NCCL group of sends and receives on a stream, with one GPU for each rank; what a rank sends to itself is
/// copied there. GPU memory is sent from where it lies, host memory by way of buffers on the GPU that are kept. Kernels
/// that write the sent memory must have ended; run() returns when all has arrived. MpiError names NCCL's call, peer and
/// bytes; it is PeerFailed where NCCL sees that another rank has ended.
class Nccl : public Exchange {
 public:
  /// Gives a reason without CUDA, and where ranks have no GPU or share one: NCCL needs one for each.
  static std::string unusable(const Communicator& comm);

  explicit Nccl(const Communicator& comm);
  ~Nccl() override;

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;
  bool reads_gpus() const override { return true; }

  /// Does what reduce_scatter() of comm/reduce_scatter.hpp does: by ncclReduceScatter where the counts are equal, else
  /// by a group of one ncclReduce for each rank. NCCL chooses the order of the additions.
  void reduce_scatter(std::span<const float> send, std::span<const std::int64_t> counts, std::span<float> receive);

  /// Does what all_gather_v() of comm/collectives.hpp does: by ncclAllGather where the counts are equal, else by a
  /// group of one ncclBroadcast for each rank.
  void all_gather_v(const std::byte* send, std::span<const std::int64_t> counts, std::byte* receive,
                    std::int64_t element_bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shardmark::comm
