// SPDX-License-Identifier: Apache-2.0
// Partial sums that ranks of a node add, on pretended nodes of 1, 2 and 3 ranks: values, and bytes between nodes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "comm/collectives.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"
#include "workloads/step/training_step.hpp"

namespace shardmark::workloads {
namespace {

using placement::RowTransfer;

/// All ranks, on nodes of that many neighbours; the last may have fewer.
comm::Communicator on_nodes(int ranks_per_node) {
  std::vector<int> leaders;
  for (int rank = 0; rank < comm::Communicator(MPI_COMM_WORLD).size(); ++rank)
    leaders.push_back(rank / ranks_per_node * ranks_per_node);
  return comm::Communicator(MPI_COMM_WORLD, std::numeric_limits<int>::max(), leaders);
}

/// Tables by rows over the ranks of one node each, or the first `most` of these: TorchRec's table_row_wise, whose
/// shards are equal blocks.
placement::Plan table_row_wise(const RunOptions& options, const comm::Communicator& comm, std::int64_t most) {
  placement::Plan plan{.name = "table_row_wise", .ranks = comm.size(), .tables = {}};
  int node = 0;
  for (const Table& table : options.workload.tables) {
    const std::vector<int>& ranks = comm.ranks_of(node++ % comm.nodes());
    placement::TablePlacement& placement = plan.tables.emplace_back();
    const auto parts = std::min<std::int64_t>({table.rows, std::ssize(ranks), most});
    for (std::int64_t k = 0; k < parts; ++k)
      placement.shards.push_back({{k * table.rows / parts, (k + 1) * table.rows / parts, 1},
                                  0,
                                  table.dim,
                                  ranks[static_cast<std::size_t>(k)]});
  }
  return plan;
}

/// Every exchange, of sums alone and of means, weights and hot rows; each pair of wire types by an exchange of its
/// turn, also in groups; and bags that pool by max where no rows are split.
TEST(NodePartials, GiveTheSameValuesByEveryExchangeAndWireType) {
  std::size_t turn = 0;
  for (const int ranks_per_node : {1, 2, 3}) {
    const comm::Communicator comm = on_nodes(ranks_per_node);
    const RunOptions exact = small_case(Pooling::sum, OptimizerKind::sgd, true),
                     mean = small_case(Pooling::mean, OptimizerKind::rowwise_adagrad, false);
    std::vector<comm::NamedExchange> exchanges;
    for (const comm::NamedExchange& exchange : comm::all_exchanges())
      if (exchange.unusable(comm).empty()) exchanges.push_back(exchange);
    const auto check = [&](const RunOptions& options, const placement::Plan& plan, const Case& config) {
      EXPECT_EQ(0, wrong_values(comm, options, plan, config))
          << ranks_per_node << " a node, " << plan.name << " " << config.name();
    };
    const placement::Plan rows = plan_of("row_wise", exact, comm.size());
    placement::Plan hot = table_row_wise(exact, comm, 2);
    hot.tables[2].hot_rows = 100;
    for (placement::Shard& shard : hot.tables[2].shards)
      shard.rows.begin = std::max<std::int64_t>(shard.rows.begin, 100);
    for (const comm::NamedExchange& exchange : exchanges) {
      const Case config{.movement = {.transfer = RowTransfer::node_partials}, .exchange = exchange};
      check(exact, rows, config);
      check(turn++ % 2 == 0 ? exact : mean, hot, config);
    }
    for (const auto& forward : value_types)
      for (const auto& backward : value_types) {
        Case config{.movement = {.transfer = RowTransfer::node_partials, .wire = {forward.value, backward.value}},
                    .exchange = exchanges[turn++ % exchanges.size()]};
        config.groups.groups = turn % 3 == 0 ? 2 : 1;
        check(turn % 2 == 0 ? exact : mean, turn % 4 == 0 ? hot : rows, config);
      }
  }
}

/// Bytes that this rank sends to other nodes in output_dist and grad_dist.
std::array<std::int64_t, 2> between_nodes(const comm::Communicator& comm, const RunOptions& options,
                                          const placement::Plan& plan, const placement::Movement& movement) {
  const auto batches = make_batch_source(options, [](const std::string&) {});
  ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
  tables.fill(options.row_values());
  const auto inputs = inputs_of(comm, options, *batches);
  const auto ready = ready_case(comm, tables, plan, {.movement = movement}, inputs.front());
  training_step(ready->flight, inputs.front());
  std::array<std::int64_t, 2> bytes{};
  for (int peer = 0; peer < comm.size(); ++peer) {
    if (comm.node_of(peer) == comm.node_of(comm.rank())) continue;
    bytes[0] += ready->flight.sent().to_ranks(index_of(Phase::output_dist)).payload[peer];
    bytes[1] += ready->flight.sent().to_ranks(index_of(Phase::grad_dist)).payload[peer];
  }
  for (std::int64_t& of_phase : bytes) of_phase = comm::all_reduce(comm, of_phase, comm::Reduce::sum);
  return bytes;
}

/// B samples, T tables of D columns, s bytes a value, N nodes of L ranks: of the N - 1 other nodes one sum per bag
/// comes home where rows are split over all ranks, and of one node where they are split over that, whatever the
/// hotness; today it is L of them.
TEST(NodePartials, SendOneSumPerBagAndNodeBetweenNodes) {
  constexpr std::int64_t B = 48, T = 3, D = 24;
  for (const int L : {1, 2, 3}) {
    const comm::Communicator comm = on_nodes(L);
    if (comm.size() % L != 0) continue;
    for (const std::int64_t hotness : {1, 5})
      for (const auto& [type, s] : {std::pair(ValueType::fp32, 4), std::pair(ValueType::bf16, 2)}) {
        SCOPED_TRACE(fmt::format("{} a node, hotness {}, {}", L, hotness, name_of(type)));
        RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
        options.workload.global_batch = B;
        options.workload.ids = {};
        options.workload.tables.assign(T, {.name = "t", .rows = 60, .dim = D});
        options.workload.features.clear();
        for (std::int64_t t = 0; t < T; ++t)
          options.workload.features.push_back({.name = "f", .table = t, .pooling = Pooling::sum, .hotness = hotness});
        const std::int64_t others = comm.nodes() - 1, one = B * T * D * s;
        const auto bytes = [&](const placement::Plan& plan, RowTransfer transfer) {
          return between_nodes(comm, options, plan, {.transfer = transfer, .wire = {type, type}});
        };
        const placement::Plan rows = plan_of("row_wise", options, comm.size());
        EXPECT_EQ(bytes(rows, RowTransfer::node_partials), (std::array{one * others, one * others}));
        EXPECT_EQ(bytes(rows, RowTransfer::dense_partials), (std::array{L * one * others, L * one * others}));
        if (B % comm.size() != 0) continue;
        const placement::Plan nodes = table_row_wise(options, comm, L);
        const std::int64_t away = one / comm.nodes() * others;
        EXPECT_EQ(bytes(nodes, RowTransfer::node_partials), (std::array{away, away}));
        EXPECT_EQ(bytes(nodes, RowTransfer::dense_partials), (std::array{L * away, L * away}));
      }
  }
}

}  // namespace
}  // namespace shardmark::workloads
