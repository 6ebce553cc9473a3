// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/decide.hpp"

#include "comm/collectives.hpp"
#include "reference/sort_distinct.hpp"
#include "workloads/tables/storages.hpp"

namespace shardmark::workloads {
namespace {

/// Holds the offsets and ids of a step's input in memory that the host reads.
struct HostBags {
  explicit HostBags(const StepInput& input)
      : offsets(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), input.bags.offsets)),
        indices(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), input.bags.indices)) {
    const std::span all_offsets(offsets.data(), offsets.extent(0));
    for (std::size_t f = 0; f + 1 < input.first_bag.size(); ++f)
      of_feature.push_back({all_offsets.subspan(input.first_bag[f], input.bags_of(f) + 1),
                            std::span(indices.data(), indices.extent(0))});
  }

  Kokkos::View<const std::int64_t*, Kokkos::HostSpace> offsets, indices;
  std::vector<placement::FeatureBags> of_feature;
};

/// Returns the rows that any of the ranks has.
std::vector<std::int64_t> of_all(const comm::Communicator& ranks, const std::vector<std::int64_t>& rows) {
  std::vector<std::int64_t> all = comm::all_gather(ranks, std::span<const std::int64_t>(rows)).values;
  sort_distinct(all);
  return all;
}

/// Returns the different rows of each table that the samples of all ranks of the node name.
std::vector<std::vector<std::int64_t>> named_by_node(const comm::Communicator& comm,
                                                     std::vector<std::vector<std::int64_t>> rows) {
  const comm::Communicator node = comm::ranks_of_node(comm);
  for (auto& of_table : rows) of_table = of_all(node, of_table);
  return rows;
}

}  // namespace

placement::Decisions decide(const comm::Communicator& comm, const placement::Plan& plan,
                            const std::vector<Table>& tables, const std::vector<Feature>& features,
                            const placement::Movement& movement, const StepInput& first) {
  placement::DecisionBytes bytes({plan, tables, features, movement, first.weighted, placement::Nodes(comm.node_of())});
  if (!bytes.needs_homes()) return bytes.decide();
  const HostBags bags(first);
  bytes.add_home(comm.rank(), placement::exact_counts(plan, tables, features, bags.of_feature));
  if (bytes.needs_nodes()) {
    const auto named = named_by_node(comm, placement::named_rows(tables, features, bags.of_feature));
    if (comm.node_rank() == 0)
      bytes.add_node(comm.node_of(comm.rank()), placement::counts_of_rows(plan, tables, named));
  }
  comm::all_reduce(comm, bytes.sums(), comm::Reduce::sum);
  return bytes.decide();
}

std::vector<Table> with_decisions(const comm::Communicator& comm, std::vector<Table> tables,
                                  const std::vector<Feature>& features, const StepInput& first) {
  std::vector<std::size_t> open;
  for (std::size_t t = 0; t < tables.size(); ++t)
    if (const auto is_open = maker_of(tables[t]).is_open; is_open && is_open(tables[t])) open.push_back(t);
  if (open.empty()) return tables;
  const HostBags bags(first);
  const auto named = placement::named_rows(tables, features, bags.of_feature);
  for (const std::size_t t : open)
    maker_of(tables[t]).decide(tables[t], static_cast<std::int64_t>(t), of_all(comm, named[t]));
  return tables;
}

}  // namespace shardmark::workloads
