// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/decide.hpp"

#include "comm/collectives.hpp"
#include "reference/error.hpp"
#include "reference/sort_distinct.hpp"
#include "reference/tensor_train/contraction_work.hpp"

namespace shardmark::workloads {
namespace {

/// The offsets and ids of a step's input in memory that the host reads.
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

/// Those that any of the ranks has.
std::vector<std::int64_t> of_all(const comm::Communicator& ranks, const std::vector<std::int64_t>& rows) {
  std::vector<std::int64_t> all = comm::all_gather(ranks, std::span<const std::int64_t>(rows)).values;
  sort_distinct(all);
  return all;
}

/// The different rows of each table that the samples of all ranks of the node name.
std::vector<std::vector<std::int64_t>> named_by_node(const comm::Communicator& comm,
                                                     std::vector<std::vector<std::int64_t>> rows) {
  const comm::Communicator node = comm::ranks_of_node(comm);
  for (auto& of_table : rows) of_table = of_all(node, of_table);
  return rows;
}

std::int64_t step_flops(const TensorTrainShape& shape, const std::vector<std::int64_t>& rows) {
  const PrefixCounts prefixes = count_prefixes(shape, rows);
  return forward_flops(shape, prefixes) + backward_flops(shape, prefixes);
}

/// Where the last core comes first, slices are kept mirrored, but stochastic rounding goes by their elements as they
/// are.
bool must_be_prefix(const Table& table) {
  return table.stochastic_rounding && (table.value_type == ValueType::fp16 || table.value_type == ValueType::bf16);
}

/// Of the rows that are named.
ContractionDirection cheaper_direction(const Table& table, const std::vector<std::int64_t>& rows) {
  if (must_be_prefix(table)) return ContractionDirection::prefix;
  const TensorTrainShape shape = tensor_train_shape(table);
  std::vector<std::int64_t> reversed;
  for (const std::int64_t row : rows) reversed.push_back(mirrored_row(shape, row));
  sort_distinct(reversed);
  const bool suffix = step_flops(mirrored(shape), reversed) < step_flops(shape, rows);
  return suffix ? ContractionDirection::suffix : ContractionDirection::prefix;
}

}  // namespace

placement::Decisions decide(const comm::Communicator& comm, const placement::Plan& plan,
                            const std::vector<Table>& tables, const std::vector<Feature>& features,
                            const placement::Movement& movement, const StepInput& first) {
  std::vector<int> node_of;
  for (int rank = 0; rank < comm.size(); ++rank) node_of.push_back(comm.node_of(rank));
  placement::DecisionBytes bytes({plan, tables, features, movement, first.weighted, placement::Nodes(node_of)});
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

std::vector<Table> with_directions(const comm::Communicator& comm, std::vector<Table> tables,
                                   const std::vector<Feature>& features, const StepInput& first) {
  const auto is_open = [](const Table& table) {
    return table.storage == Storage::tt && table.tensor_train.direction == ContractionDirection::automatic;
  };
  for (const Table& table : tables)
    if (table.storage == Storage::tt && table.tensor_train.direction == ContractionDirection::suffix &&
        must_be_prefix(table))
      throw InputError(
          "table " + table.name +
          ": a tensor train that is contracted from its last core on keeps its slices transposed and cannot "
          "round them stochastically; use tt.direction prefix or auto");
  if (std::ranges::none_of(tables, is_open)) return tables;
  const HostBags bags(first);
  const auto named = placement::named_rows(tables, features, bags.of_feature);
  for (std::size_t t = 0; t < tables.size(); ++t)
    if (is_open(tables[t])) tables[t].tensor_train.direction = cheaper_direction(tables[t], of_all(comm, named[t]));
  return tables;
}

}  // namespace shardmark::workloads
