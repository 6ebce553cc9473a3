// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/sent_bytes_check.hpp"

#include <fmt/format.h>

#include "comm/placement/test/traffic_oracle.hpp"
#include "workloads/transfer/unique_rows/node_rows.hpp"

namespace shardmark::workloads {
namespace {

/// The ids of every rank's own samples.
std::vector<Batch> ids_of_ranks(const Workload& workload, BatchSource& batches, std::int64_t number, int ranks) {
  std::vector<Batch> homes;
  for (int r = 0; r < ranks; ++r) {
    const SampleRange samples = samples_of(workload.global_batch, ranks, r);
    homes.push_back(batches.read(number, samples.first, samples.count).batch);
  }
  return homes;
}

}  // namespace

std::string unequal_bytes(const comm::Communicator& comm, const CaseSetup& setup, BatchSource& batches,
                          std::int64_t number, const Flight& flight) {
  const auto& [plan, options] = setup.planned();
  const Workload& workload = options.workload;
  const placement::Movement& movement = setup.how().movement;
  std::vector<int> nodes;
  for (int r = 0; r < comm.size(); ++r) nodes.push_back(comm.node_of(r));
  const placement::Decisions decided = placement::predict_decisions(
      plan, workload.tables, workload.features, ids_of_ranks(workload, batches, 0, comm.size()), movement,
      NodeRows::unusable(comm).empty() ? nodes : std::vector<int>());
  const placement::Traffic traffic =
      placement::predict_traffic(plan, workload.tables, workload.features,
                                 ids_of_ranks(workload, batches, number, comm.size()), movement, decided, nodes);
  const comm::SentBytes sent = flight.sent();
  for (const auto& [phase, bytes] :
       {std::pair(Phase::input_dist, &traffic.input_dist), std::pair(Phase::output_dist, &traffic.output_dist),
        std::pair(Phase::grad_dist, &traffic.grad_dist), std::pair(Phase::update, &traffic.update)})
    for (int peer = 0; peer < comm.size(); ++peer)
      if (const std::int64_t counted = sent.to_ranks(index_of(phase)).payload[peer],
          expected = (*bytes)(comm.rank(), peer);
          counted != expected)
        return fmt::format("{} of batch {} counted {} bytes to rank {}, the model says {}",
                           results::phase_names[index_of(phase)], number, counted, peer, expected);
  return {};
}

}  // namespace shardmark::workloads
