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
