// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "comm/placement/cost/machine_description.hpp"
#include "comm/placement/cost/machine_file.hpp"
#include "comm/placement/exchange_shapes.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

std::string complaint(const MachineModel& like, const DataSheet& sheet) {
  try {
    described_machine(like, sheet);
  } catch (const InputError& error) {
    return error.what();
  }
  return "described";
}

TEST(MachineDescription, OfItsOwnDataSheetIsTheMachine) {
  for (const char* name : {"cpu-100g", "dgx-a100", "dgx-1-v100"}) {
    const MachineModel like = named_machine(name);
    DataSheet sheet{.memory_bytes_per_second = like.sheet_memory_bytes_per_second};
    if (like.sheet_cores > 0.0) sheet.cores = like.sheet_cores;
    const MachineModel again = described_machine(like, sheet).machine;
    EXPECT_EQ(again.seconds, like.seconds) << name;
    EXPECT_EQ(described_machine(like, {}).machine, like) << name;
  }
}

TEST(MachineDescription, OneGpuFollowsFromAnother) {
  const MachineModel v100 = named_machine("dgx-1-v100");
  const auto [machine, rules] =
      described_machine(named_machine("dgx-a100"), {.memory_bytes_per_second = v100.sheet_memory_bytes_per_second});
  EXPECT_EQ(rules.size(), 1U);
  for (std::size_t t = 0; t < terms.size(); ++t)
    if (!terms[t].name.starts_with("train.")) {
      EXPECT_NEAR(machine.seconds[t], v100.seconds[t], 0.01 * v100.seconds[t]) << terms[t].name;
    }
  EXPECT_NEAR(machine.gather_bytes_per_second, v100.gather_bytes_per_second, 0.01 * v100.gather_bytes_per_second);
}

TEST(MachineDescription, TwiceTheCoresHalveWhatCoresBound) {
  const MachineModel like = described_cluster();
  const MachineModel machine = described_machine(like, {.cores = 2 * like.sheet_cores}).machine;
  EXPECT_EQ(at(machine.seconds, Term::lookup_id), at(like.seconds, Term::lookup_id) / 2);
  EXPECT_EQ(at(machine.seconds, Term::lookup_line), at(like.seconds, Term::lookup_line));
  EXPECT_EQ(at(machine.seconds, Term::lookup_step), at(like.seconds, Term::lookup_step));
  EXPECT_EQ(machine.flops, 2 * like.flops);
  EXPECT_NE(machine.source.find("; with 64 cores a rank"), std::string::npos) << machine.source;
}

TEST(MachineDescription, ALatencyIsThatOfARoundWhereTheMachineHasRounds) {
  const MachineModel like = named_machine("hgx-h100+hugectr-mlperf-2024");
  const ExchangeCost& before = like.exchange(library_exchange);
  const MachineModel machine = described_machine(like, {.links = NodeLinks{8, 50e9}, .latency = 7e-6}).machine;
  const ExchangeCost& after = machine.exchange(library_exchange);
  EXPECT_EQ(after.between_round, 7e-6);
  EXPECT_EQ(after.between.seconds(0.0), before.between.seconds(0.0));
  EXPECT_EQ(machine.all_reduce_between.seconds(0.0), 7e-6);
  EXPECT_EQ(described_machine(like, {.links = NodeLinks{8, 50e9}}).machine.all_reduce_between.seconds(0.0),
            like.all_reduce_between.seconds(0.0));
}

TEST(MachineDescription, OtherLinksAreNotLimitedAsThoseThatWereMeasured) {
  MachineModel like = described_cluster();
  like.limit = {119e6, 250e3};
  like.alone.between = {{1000, 0.5}};
  EXPECT_TRUE(described_machine(like, {.latency = 7e-6}).machine.limit.limits());
  const MachineModel machine = described_machine(like, {.links = NodeLinks{1, 25e9}}).machine;
  EXPECT_FALSE(machine.limit.limits());
  EXPECT_FALSE(machine.alone.of_messages());
}

TEST(MachineDescription, LinksCarryNineTenthsAndBeginWithTheLatency) {
  const auto [machine, rules] = described_machine(
      described_cluster(), {.links = NodeLinks{4, 25e9}, .latency = 1e-6, .ranks_per_node = 8, .memory = 80e9});
  const MessageCost& between = machine.exchange(library_exchange).between;
  EXPECT_EQ(between.seconds(0.0), 1e-6);
  EXPECT_NEAR(between.bytes_per_second(), 22.5e9, 1.0);
  EXPECT_NEAR(machine.node_bytes_per_second, 90e9, 1.0);
  EXPECT_EQ(machine.all_reduce_between, between);
  EXPECT_EQ(machine.exchange(library_exchange).inside, described_cluster().exchange(library_exchange).inside);
  EXPECT_EQ(machine.ranks_per_node, 8);
  EXPECT_EQ(machine.memory_per_rank, 80e9);
  EXPECT_TRUE(
      machine.source.ends_with("; with 4 links of 200 Gb/s a node, latency of 1 us, 8 ranks a node, 80 GB a rank"))
      << machine.source;
  EXPECT_EQ(machine_from_json(to_json(machine), "again"), machine);
}

TEST(MachineDescription, LinksMakeAMachineOfOneNodeKnownBetweenNodes) {
  MachineModel one_node = described_cluster();
  one_node.measured = true;
  one_node.exchanges["mpi_alltoallv"].between = {};
  EXPECT_THROW(require_known(one_node, 2), InputError);
  const auto [machine, rules] = described_machine(one_node, {.links = NodeLinks{1, 25e9}});
  EXPECT_NO_THROW(require_known(machine, 2));
  EXPECT_FALSE(machine.measured);
  EXPECT_EQ(rules.back(), "latency between nodes: 2.5 us, that of cpu-100g");
  EXPECT_EQ(complaint(one_node, {.latency = 1e-6}),
            "--latency: machine cpu-100g says nothing of links between nodes; give --links too");
  EXPECT_EQ(complaint(named_machine("dgx-a100"), {.cores = 8}),
            "--cores: machine dgx-a100 has none in its data sheet to scale from; leave it out, or use another machine");
}

}  // namespace
}  // namespace shardmark::placement
