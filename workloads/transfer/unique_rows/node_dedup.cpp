// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/unique_rows/node_dedup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "reference/error.hpp"

namespace shardmark::workloads {

int local_rank(const comm::Communicator& comm, int rank) {
  int before = 0;
  for (int r = 0; r < rank; ++r) before += comm.node_of(r) == comm.node_of(rank) ? 1 : 0;
  return before;
}

void require_node_dedup(const comm::Communicator& comm) {
  if (const std::string reason = why_no_node_dedup(comm); !reason.empty())
    throw InputError("dedup node: " + reason + "; use dedup local");
}

std::string why_no_node_dedup(const comm::Communicator& comm) {
  for (int r = 0; r < comm.size(); ++r)
    if (comm.nodes() * comm.node_size() != comm.size() || local_rank(comm, r) >= comm.node_size())
      return fmt::format("{} ranks on {} nodes are not equally many on each", comm.size(), comm.nodes());
  if (comm.nodes() < 2 || comm.node_size() < 2)
    return fmt::format("needs several nodes with several ranks each, not {} with {}", comm.nodes(), comm.node_size());
  return {};
}

std::vector<int> places_of_node_dedup(const comm::Communicator& comm) {
  std::vector<std::pair<int, int>> order;
  for (int r = 0; r < comm.size(); ++r) order.emplace_back(local_rank(comm, r), r);
  std::ranges::sort(order);
  std::vector<int> places(order.size());
  for (std::size_t p = 0; p < order.size(); ++p) places[order[p].second] = static_cast<int>(p);
  return places;
}

}  // namespace shardmark::workloads
