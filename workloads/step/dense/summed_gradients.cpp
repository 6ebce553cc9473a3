// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/dense/summed_gradients.hpp"

#include <numeric>

#include "comm/affinity.hpp"
#include "comm/reduction/library_reduction.hpp"
#include "workloads/batches/execution.hpp"

namespace shardmark {
namespace {

Lane lane_of_sums(const Communicator& comm) {
  if (comm.size() == 1) return Lane(Lane::Kind::plain);
  const bool core_of_its_own = threads_for_rank(comm, observed_affinity()) > Execution().concurrency();
  return Lane(comm, core_of_its_own ? Waiting::poll : Waiting::sleep);
}

/// An even share of `values` for each rank, the first ones a value longer.
std::vector<std::int64_t> even_shares(std::size_t values, int ranks) {
  std::vector<std::int64_t> shares(static_cast<std::size_t>(ranks), static_cast<std::int64_t>(values) / ranks);
  for (std::size_t r = 0; r < values % ranks; ++r) ++shares[r];
  return shares;
}

}  // namespace

SummedGradients::SummedGradients(const Communicator& comm) : comm_(comm), lane_(lane_of_sums(comm)) {}

void SummedGradients::sum(std::size_t number, std::span<float> values, PhaseCosts& costs) {
  if (number == buckets_.size()) buckets_.push_back({std::make_unique<LibraryReduction>(comm_), {}, 0});
  Bucket& bucket = buckets_[number];
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

}  // namespace shardmark
