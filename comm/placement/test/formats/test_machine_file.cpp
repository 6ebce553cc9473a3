// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "comm/placement/cost/machine_file.hpp"
#include "comm/placement/cost/machine_parts.hpp"
#include "comm/placement/cost/without_term.hpp"
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
  MachineModel measured = described_cluster();
  measured.alone = {{{64, 1.0}, {4096, 0.6}}, {{64, 0.5}}};
  measured.limit = {119e6, 250e3};
  EXPECT_EQ(machine_from_json(to_json(measured), "again"), measured);
  EXPECT_FALSE(without(measured, "limit").limit.limits());
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
      {"/format", "shardmark-machine/2", "format", "shardmark-machine/3"},
      {"/seconds/lookup.id", -1e-9, "seconds.lookup.id", ">= 0"},
      {"/seconds/lookup.id", "fast", "seconds.lookup.id", "number"},
      {"/seconds/lookup.id", std::numeric_limits<double>::quiet_NaN(), "seconds.lookup.id", "finite"},
      {"/seconds/lookup.id", 4000.0, "seconds.lookup.id", "hour"},
      {"/seconds/lookup.ids", 1e-9, "seconds.lookup.ids", "did you mean 'lookup.id'"},
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
      {"/software", {{"name", "x"}, {"date", "2026-11"}}, "software.gradient_bytes", "missing"},
      {"/row_shares", {{64, 0.5}, {128, 0.4}}, "row_shares", "falls from 0.5 to 0.4 at 128 bytes"},
      {"/alone/between", {{64, 0.5}, {128, 1.5}}, "alone.between", "share above 0 and at most 1"},
      {"/alone/inside", {{64, 0.5}, {64, 0.4}}, "alone.inside", "ascend"},
      {"/alone/insid", {{64, 0.5}}, "alone.insid", "did you mean 'inside'"},
      {"/limit", {{"bytes_per_second", 1e8}}, "limit.burst_bytes", "missing"},
      {"/limit", {{"bytes_per_second", 0}, {"burst_bytes", 1}}, "limit.bytes_per_second", "above 0"},
      {"/limit", {{"bytes_per_second", 1e8}, {"burst", 1}}, "limit.burst", "did you mean 'burst_bytes'"},
      {"/switch", {{"ranks", 0}, {"bytes_per_second", 1e9}}, "switch.ranks", "whole"},
      {"/format", hardware_format, "software", "HARDWARE+SOFTWARE"},
      {"/format", software_format, "flops", "HARDWARE+SOFTWARE"},
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

TEST(MachineFile, OfATimeBeforeATermSaysWhatItIsLike) {
  const MachineModel machine = described_cluster();
  nlohmann::ordered_json old = to_json(machine);
  int missing = 0;
  for (const TermChoice& term : terms)
    missing += term.like ? static_cast<int>(old["seconds"].erase(std::string(term.name))) : 0;
  EXPECT_EQ(missing, 12);
  EXPECT_EQ(machine_from_json(old, "FILE"), machine);  // described before there were these
  old["seconds"]["lookup.line"] = 4 * at(machine.seconds, Term::lookup_line);
  EXPECT_DOUBLE_EQ(at(machine_from_json(old, "FILE").seconds, Term::key_line), 4 * at(machine.seconds, Term::key_line));
  old["seconds"]["lookup.key_line"] = 1e-6;
  EXPECT_DOUBLE_EQ(at(machine_from_json(old, "FILE").seconds, Term::key_line), 1e-6);
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

TEST(MachineParts, OfEveryHardwareAndSoftwareThatIsDescribed) {
  for (const MachinePart& hardware : described_hardware())
    for (const MachinePart& software : described_software()) {
      const std::string name = hardware.name + "+" + software.name;
      const bool gpu = software.name != "pytorch-mlperf-cpu";
      const bool xeon = hardware.name.starts_with("cooperlake") || hardware.name.starts_with("spr");
      if (gpu == xeon) continue;  // processors have no fp16, and nobody runs the other on GPUs
      const MachineModel machine = named_machine(name);
      EXPECT_EQ(machine.name, name);
      EXPECT_EQ(machine_from_json(to_json(machine), "again"), machine) << name;
      EXPECT_FALSE(machine.software.date.empty()) << name;
    }
  const MachineModel machine = named_machine("hgx-a100+hugectr-mlperf-2021");
  EXPECT_TRUE(machine.software.overlapping(Overlap::input));
  EXPECT_DOUBLE_EQ(at(machine.seconds, Term::lookup_line), 64 / 2039e9);
  EXPECT_DOUBLE_EQ(at(machine.seconds, Term::update_value), 4 / machine.stream_bytes_per_second);
  const double least = machine.row_shares.front().share, most = machine.row_shares.back().share;
  EXPECT_DOUBLE_EQ(machine.row_share(1), least);
  EXPECT_DOUBLE_EQ(machine.row_share((64 + 512) / 2.0), (least + most) / 2);
  EXPECT_DOUBLE_EQ(machine.row_share(4096), most);
  EXPECT_NO_THROW(require_known(machine, 2));
  EXPECT_THROW(require_known(named_machine("a100-pcie+hugectr-mlperf-2021"), 2), InputError);
}

TEST(MachineParts, RefusesWhatIsMissingOrAbsurd) {
  const std::string file = testing::TempDir() + "part.json";
  const auto refused = [&](bool hardware, const std::string& pointer, const nlohmann::ordered_json& value) {
    nlohmann::ordered_json part =
        hardware ? nlohmann::ordered_json::parse(R"({"format": "shardmark-hardware/1", "name": "h", "source": "s",
      "ranks_per_node": 8, "memory_per_rank": 1e9, "cache_per_rank": 1e6, "memory_bytes_per_second": 1e9,
      "flops": {"fp32": 1e9, "fp16": 1e9}, "inside": {"bytes_per_second": 1e9}})")
                 : nlohmann::ordered_json::parse(R"({"format": "shardmark-software/1", "name": "s", "date": "d",
      "source": "s", "overlaps": [], "dense": {"format": "fp16", "flops_share": 0.5, "gradient_bytes": 2},
      "memory_share": 0.5, "row_shares": [[64, 0.5]], "launch": {"seconds": 1e-6, "input_dist": 1, "lookup": 1,
      "output_dist": 1, "dense": 1, "grad_dist": 1, "update": 1}, "links": {"call": 1e-6,
      "inside": {"share": 1}, "between": {"share": 1}}})");
    if (!pointer.empty()) part[nlohmann::ordered_json::json_pointer(pointer)] = value;
    std::ofstream(file) << part;
    try {
      named_machine(hardware ? file + "+hugectr-mlperf-2021" : "hgx-a100+" + file);
    } catch (const InputError& error) {
      const std::string said = error.what();
      return said.starts_with(file + ": ") ? said.substr(file.size() + 2) : said;
    }
    return std::string();
  };
  EXPECT_EQ(refused(true, "", {}), "");
  EXPECT_EQ(refused(false, "", {}), "");
  EXPECT_TRUE(refused(true, "/memory_per_rnk", 1).starts_with("\"memory_per_rnk\" is no key here; did you mean"));
  EXPECT_EQ(refused(true, "/flops", {{"fp32", 1e9}}), "\"flops.fp16\" is missing: hugectr-mlperf-2021 computes in it");
  EXPECT_TRUE(
      refused(true, "/inside/switch", {{"ranks", 4}}).starts_with("\"inside.switch.bytes_per_second\" is missing"));
  EXPECT_TRUE(refused(true, "/format", "x").starts_with("\"format\" is \"x\", not \"shardmark-hardware/1\""));
  EXPECT_TRUE(
      refused(false, "/overlaps", {"inputs"}).starts_with("\"overlaps\" unknown overlap 'inputs'; did you mean"));
  EXPECT_TRUE(
      refused(false, "/row_shares", {{512, 0.5}, {64, 0.5}}).starts_with("\"row_shares\" 64 bytes come after 512"));
  EXPECT_TRUE(
      refused(false, "/row_shares", {{64, 0.5}, {512, 0.4}}).starts_with("\"row_shares\" falls from 0.5 to 0.4"));
  EXPECT_TRUE(
      refused(false, "/memory_share", 1.5).starts_with("\"memory_share\" must be a share above 0 and at most 1"));
  EXPECT_TRUE(
      refused(false, "/launch/lookups", 1).starts_with("\"launch.lookups\" is no key here; did you mean 'lookup'?"));
  EXPECT_TRUE(refused(false, "/links/between", {{"round", 1}}).starts_with("\"links.between.share\" is missing"));
  for (const std::string name : {"hgx-h100", "hugectr-mlperf-2024"}) EXPECT_THROW(named_machine(name), InputError);
  EXPECT_THROW(named_machine("hgx-h10+hugectr-mlperf-2024"), InputError);
}

TEST(MachineParts, CanBeLeftOut) {
  const MachineModel machine = named_machine("hgx-a100+hugectr-mlperf-2021");
  for (const std::string_view name : droppable())
    EXPECT_EQ(without(without(machine, std::string(name)), std::string(name)), without(machine, std::string(name)));
  EXPECT_EQ(at(without(machine, "update.row").seconds, Term::update_row), 0.0);
  const MachineModel no_keys = without(machine, "keys"), no_codecs = without(machine, "codecs");
  for (const Term term : {Term::route_key, Term::sorted_key, Term::key_id, Term::key, Term::key_line, Term::new_key}) {
    EXPECT_GT(at(machine.seconds, term), 0.0);
    EXPECT_EQ(at(no_keys.seconds, term), 0.0);
    EXPECT_EQ(at(no_codecs.seconds, term), at(machine.seconds, term));
  }
  for (const Term term : {Term::coded_value, Term::coded_gradient}) {
    EXPECT_GT(at(no_keys.seconds, term), 0.0);
    EXPECT_EQ(at(no_codecs.seconds, term), 0.0);
  }
  EXPECT_THROW(without(machine, "update.rows"), InputError);
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
