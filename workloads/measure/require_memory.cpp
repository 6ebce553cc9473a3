// SPDX-License-Identifier: Apache-2.0
// What a node has, against what is needed of it.
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/placement/memory_fit.hpp"
#include "workloads/measure/memory.hpp"
#include "workloads/measure/node_memory.hpp"

namespace shardmark::workloads {

void require_memory(const comm::Communicator& comm, double bytes_per_rank, std::string_view command,
                    std::string_view remedy) {
  const auto available = static_cast<double>(memory_of_node(comm));
  comm::agree(comm, [&] {
    const double needed = bytes_per_rank * comm.node_size();
    if (needed > available)
      throw InputError(fmt::format("{}: {} ranks of a node need {:.1f} GB, it has {:.1f}; use {}", command,
                                   comm.node_size(), needed * 1e-9, available * 1e-9, remedy));
  });
}

namespace {

/// The smallest N with which a node that needs `needed` bytes, `tables` of them for tables of 1/scale of their rows,
/// has enough of them with --scale 1/N; 0: no N is enough.
std::int64_t scale_that_fits(double needed, double tables, double available, std::int64_t scale) {
  const double left_for_tables = available - (needed - tables);
  if (left_for_tables <= 0.0) return 0;
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(scale) * tables / left_for_tables));
}

}  // namespace

void require_memory(const comm::Communicator& comm, const placement::Plan& plan, const RunOptions& options,
                    std::span<const Case> cases) {
  const auto needed = comm::all_gather(comm, memory_needed(comm, plan, options, cases));
  const auto available = comm::all_gather(comm, static_cast<double>(memory_of_node(comm)));
  const auto tables = table_bytes(plan, options.workload.tables);
  std::int64_t scale = 1;
  for (int n = 0; n < comm.nodes() && scale > 0; ++n) {
    double of_all = 0.0, of_tables = 0.0;
    for (const int r : comm.ranks_of(n)) of_all += needed[r], of_tables += tables[r];
    const std::int64_t of_node =
        scale_that_fits(of_all, of_tables, available[comm.ranks_of(n).front()], options.workload.scale);
    scale = of_node == 0 ? 0 : std::max(scale, of_node);
  }
  std::vector<double> of_node(static_cast<std::size_t>(comm.nodes())), room;
  for (int r = 0; r < comm.size(); ++r) of_node[comm.node_of(r)] += needed[r];
  for (int r = 0; r < comm.size(); ++r) room.push_back(available[r] - of_node[comm.node_of(r)]);
  comm::agree(comm, [&] {
    const int rank = comm.rank();
    if (room[rank] >= 0.0) return;
    throw InputError(
        fmt::format("plan {} needs {:.1f} GB of memory on this rank and {:.1f} GB on its node, which has {:.1f} GB "
                    "left; {}; or use more nodes, another plan, {}",
                    plan.name, needed[rank] * 1e-9, of_node[comm.node_of(rank)] * 1e-9, available[rank] * 1e-9,
                    placement::relief(plan, options.workload.tables, rank, room),
                    scale > 0 ? fmt::format("or --scale 1/{}, which fits", scale) : "or a smaller --batch"));
  });
}

}  // namespace shardmark::workloads
