// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/dense/dense_gradient_sums.hpp"

#include <numeric>

#include "comm/reduction/library_reduction.hpp"
#include "workloads/batches/step_input.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark::workloads {
namespace {

comm::ProgressThread progress_of_sums(const comm::Communicator& comm) {
  return comm.size() == 1 ? comm::ProgressThread() : comm::ProgressThread(waiting_beside_compute(comm));
}

/// Returns the number of values for each rank, shared as samples are.
std::vector<std::int64_t> even_shares(std::size_t values, int ranks) {
  std::vector<std::int64_t> shares;
  for (int r = 0; r < ranks; ++r) shares.push_back(samples_of(static_cast<std::int64_t>(values), ranks, r).count);
  return shares;
}

}  // namespace

SummedGradients::SummedGradients(const comm::Communicator& comm) : comm_(comm), progress_(progress_of_sums(comm)) {}

comm::Nccl* SummedGradients::nccl_of(const Embedding& embedding) {
  if (host_reaches_arrays || comm_.size() == 1 || embedding.reduction() != "nccl") return nullptr;
  const bool follows = embedding.follows_kernels();
  auto& nccl = nccl_[follows ? 1 : 0];
  if (!nccl) {
    nccl = std::make_unique<comm::Nccl>(comm_);
    if (follows) nccl->follow(kernel_stream());
  }
  return nccl.get();
}

/// Counts what must be sent at least: every other rank's share, and the rank's own share to every other rank.
void SummedGradients::sum(comm::Nccl& nccl, const DeviceArray<float>& values, PhaseCosts& costs) const {
  nccl.all_reduce({values.data(), values.extent(0)});
  const auto all = static_cast<std::int64_t>(values.extent(0)), ranks = std::int64_t{comm_.size()};
  const std::int64_t own = even_shares(values.extent(0), comm_.size())[comm_.rank()];
  const std::int64_t bytes = (all - own + (ranks - 1) * own) * static_cast<std::int64_t>(sizeof(float));
  costs.bytes[index_of(Phase::dense)] += bytes;
  costs.payload[index_of(Phase::dense)] += bytes;
}

void SummedGradients::sum(Bucket& bucket, std::span<float> values, PhaseCosts& costs) {
  if (!bucket.reduction) bucket.reduction = std::make_unique<comm::LibraryReduction>(comm_);
  if (bucket.size != values.size()) {
    const auto shares = even_shares(values.size(), comm_.size());
    bucket.reduction->lay_out(shares);
    bucket.own.resize(static_cast<std::size_t>(shares[comm_.rank()]));
    bucket.size = values.size();
  }
  const auto count = [&] {
    const auto& sent = bucket.reduction->sent();
    const std::int64_t bytes = std::reduce(sent.begin(), sent.end());
    costs.bytes[index_of(Phase::dense)] += bytes;
    costs.payload[index_of(Phase::dense)] += bytes;
  };
  bucket.reduction->reduce_scatter(values, bucket.own);
  count();
  bucket.reduction->all_gather(bucket.own, values);
  count();
}

}  // namespace shardmark::workloads
