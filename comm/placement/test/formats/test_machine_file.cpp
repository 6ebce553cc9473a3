// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "comm/placement/cost/machine_file.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

std::string complaint(const nlohmann::ordered_json& json) {
  try {
    machine_from_json(json, "FILE");
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(MachineFile, ReadsWhatItWrites) {
  for (const std::string& name : described_machines()) {
    const MachineModel machine = named_machine(name);
    EXPECT_EQ(machine.name, name);
    EXPECT_FALSE(machine.measured);
    EXPECT_TRUE(machine.source.starts_with("described")) << machine.source;
    EXPECT_EQ(machine_from_json(to_json(machine), "again"), machine) << name;
    EXPECT_NO_THROW(require_known(machine, 2));
  }
  EXPECT_EQ(described_cluster().name, "cpu-100g");
}

TEST(MachineFile, RefusesWhatIsMissingOrAbsurd) {
  const nlohmann::ordered_json good = to_json(described_cluster());
  EXPECT_EQ(complaint(good), "");
  const auto with = [&](const std::string& pointer, const nlohmann::ordered_json& value) {
    nlohmann::ordered_json bad = good;
    bad[nlohmann::ordered_json::json_pointer(pointer)] = value;
    return complaint(bad);
  };
  struct Bad {
    std::string pointer;
    nlohmann::ordered_json value;
    std::string key, why;
  };
  const std::vector<Bad> all{
      {"/format", "shardmark-machine/1", "format", "shardmark-machine/2"},
      {"/seconds/route.id", -1e-9, "seconds.route.id", ">= 0"},
      {"/seconds/route.id", "fast", "seconds.route.id", "number"},
      {"/seconds/route.id", std::numeric_limits<double>::quiet_NaN(), "seconds.route.id", "finite"},
      {"/seconds/route.id", 4000.0, "seconds.route.id", "hour"},
      {"/seconds/route.ids", 1e-9, "seconds.route.ids", "did you mean 'route.id'"},
      {"/optimizer_weights/sdg", 1.0, "optimizer_weights.sdg", "no optimizer"},
      {"/node_bytes_per_second", 0, "node_bytes_per_second", "above 0"},
      {"/node_bytes_per_second", -5, "node_bytes_per_second", ">= 0"},
      {"/ranks_per_node", 2.5, "ranks_per_node", "whole"},
      {"/exchanges/mpi_alltoallv/inside", nlohmann::ordered_json::array(), "exchanges.mpi_alltoallv.inside", "list"},
      {"/exchanges/mpi_alltoallv/inside", {{0, 1e-6}, {0, 2e-6}}, "exchanges.mpi_alltoallv.inside", "ascend"},
      {"/exchanges/mpi_alltoallv/inside", {{0, 1e-6}, {8, 1e-7}}, "exchanges.mpi_alltoallv.inside", "less time"},
      {"/exchanges/mpi_alltoallv/inside", {{0, 1e-6}, {8, 9.0}}, "exchanges.mpi_alltoallv.inside", "second per byte"},
      {"/all_reduce/between", {{0, -1e-6}}, "all_reduce.between", ">= 0"},
      {"/measured", "yes", "measured", "true or false"},
      {"/bytes_per_second/gather", 0.0, "bytes_per_second.gather", "above 0"},
  };
  for (const Bad& bad : all) {
    const std::string said = with(bad.pointer, bad.value);
    EXPECT_TRUE(said.starts_with("FILE: \"" + bad.key + "\"")) << said;
    EXPECT_NE(said.find(bad.why), std::string::npos) << said;
  }
  for (const std::string key : {"format", "name", "seconds", "exchanges"}) {
    nlohmann::ordered_json bad = good;
    bad.erase(key);
    EXPECT_EQ(complaint(bad), "FILE: \"" + key + "\" is missing");
  }
  nlohmann::ordered_json bad = good;
  bad["seconds"].erase("lookup.line");
  EXPECT_EQ(complaint(bad), "FILE: \"seconds.lookup.line\" is missing");
}

TEST(MachineFile, HoldsWhatAutoPicksFrom) {
  MachineModel machine = described_cluster();
  machine.ratios = {.ranks = 2,
                    .nodes = 1,
                    .exchanges = {"mpi_alltoallv", "bruck:2"},
                    .cells = {{64, false, {1.0, 0.5}}, {64, true, {1.0, 1.25}}}};
  const nlohmann::ordered_json good = to_json(machine);
  EXPECT_EQ(machine_from_json(good, "FILE"), machine);
  const auto with = [&](const std::string& pointer, const nlohmann::ordered_json& value) {
    nlohmann::ordered_json bad = good;
    bad[nlohmann::ordered_json::json_pointer(pointer)] = value;
    return complaint(bad);
  };
  EXPECT_NE(with("/auto/ranks", 0.5).find("\"auto.ranks\" must be a whole number"), std::string::npos);
  EXPECT_NE(with("/ranks_per_node", 1e7).find("\"ranks_per_node\" must be a whole number from 1 to 1000000"),
            std::string::npos);
  nlohmann::ordered_json without = good;
  without["auto"]["cells"][0]["vs_mpi_alltoallv"].erase("mpi_alltoallv");
  EXPECT_NE(complaint(without).find("\"auto.cells[0].vs_mpi_alltoallv.mpi_alltoallv\" is missing"), std::string::npos);
  EXPECT_NE(with("/auto/cells", 1).find("\"auto.cells\" must be a list"), std::string::npos);
  EXPECT_NE(with("/auto/cells/1/skewed", 1).find("\"auto.cells[1].skewed\" must be true or false"), std::string::npos);
  EXPECT_NE(with("/auto/cells/1/vs_mpi_alltoallv", {{"linear", 1.0}}).find("other exchanges"), std::string::npos);
}

TEST(MachineFile, KnowsWhatItDoesNotKnow) {
  MachineModel machine = described_cluster();
  machine.exchanges["mpi_alltoallv"].between = {};
  EXPECT_NO_THROW(require_known(machine, 1));
  EXPECT_THROW(require_known(machine, 2), InputError);
  EXPECT_THROW(named_machine("dgx-9000"), InputError);
  EXPECT_THROW(read_machine("/nowhere/machine.json"), InputError);
}

}  // namespace
}  // namespace shardmark::placement
