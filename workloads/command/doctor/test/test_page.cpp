// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "workloads/command/doctor/doctor_page.hpp"
#include "workloads/command/doctor/test/some_facts.hpp"

namespace shardmark::workloads {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Everything that can be wrong at once, with the longest texts.
Facts sick_facts() {
  Facts facts = sound_facts();
  facts.build = {.version = "0.1.0",
                 .commit = "0123456789ab",
                 .compiler = "GNU 12.2.0",
                 .flags = "-O0 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined",
                 .type = "RelWithDebInfo",
                 .dirty = true,
                 .vectors = "sse2",
                 .cpu_vectors = "avx512",
                 .cuda = true};
  let_float(facts, 8);
  for (int rank = 4; rank < 200; ++rank) facts.ranks.push_back(facts.ranks.front());
  facts.ranks.back().node = 1;
  facts.machine.load = 123.4;
  facts.machine.numa_balancing = true;
  facts.machine.cpu_quota = 1.5;
  facts.machine.governor = "powersave";
  facts.machine.transparent_huge_pages = "never";
  facts.machine.memory_available = 1'000'000'000;
  facts.machine.cpu = "A Processor With A Very Long Name And Its Frequency @ 2.40GHz";
  facts.ceilings.huge_page_share = 0.0;
  facts.ceilings.between = CeilingFacts::Link{123.4e-6, 0.01e9};
  facts.mpi.reads_neighbours = false;
  facts.mpi.fabrics = {"mlx5_0", "mlx5_1"};
  facts.mpi.settings = {"pml ^ucx", "btl ^uct,openib,ofi", "mtl ^ofi", "osc ^ucx,pt2pt"};
  facts.gpu = {{"NVIDIA H200", "NVIDIA H200"}, "2.21.5", "ranks 0 and 199 share GPU 0000:3b:00 of node1"};
  facts.gpu.own = comm::GpuDescription{.name = "NVIDIA H200",
                                       .address = "0000:3b:00",
                                       .memory_bytes = 150'000'000'000,
                                       .clock_mhz = 1980,
                                       .driver = "13.0",
                                       .toolkit = "13.0"};
  facts.gpu.free = 9'000'000'000;
  facts.gpu.sharers = 100;
  facts.gpu.settings = {"NCCL_P2P_DISABLE=1", "NCCL_SOCKET_IFNAME=ib0"};
  return facts;
}

TEST(DoctorPage, FitsAScreenOf120By40) {
  for (const Facts& facts : {sound_facts(), sick_facts()}) {
    const auto lines = lines_of(doctor_page(facts));
    EXPECT_LE(lines.size(), 40U);
    for (const std::string& line : lines) EXPECT_LE(line.size(), 120U) << line;
  }
}

TEST(DoctorPage, SaysWhatWasFound) {
  const std::string page = doctor_page(sound_facts());
  for (const char* part :
       {"commit 0123456789ab, Release build by GNU 12.2.0",
        "Some Processor, 8 cores, 16 processors (SMT on), 2 NUMA nodes",
        "60.0 of 64.0 GB available; huge pages: madvise, 100 % obtained", "8 threads of 4 ranks on 8 of 8 cores",
        "\n            rank 3 on node1: processors 6-7 (2 cores), 2 threads\n",
        "Open MPI v4.1.4; opened: pml ob1, btl self tcp vader", "memory (single copy: cma)",
        "no exchange nccl: this build has no CUDA", "stream triad 12.50 GB/s, random rows of 64 floats 4.25 GB/s",
        "ping-pong inside a node: 0.50 us, 5.00 GB/s", "all-to-all of 1024 KB per rank: 500 us, 2.10 GB/s",
        "\nNothing to change was found.\n"})
    EXPECT_NE(page.find(part), std::string::npos) << part << " in\n" << page;
}

TEST(DoctorPage, SaysTheClockOfAGpuWhereItIsKnown) {
  Facts facts = sick_facts();
  EXPECT_NE(doctor_page(facts).find("left), at most 1980 MHz"), std::string::npos);
  facts.gpu.clock = {1200, "its power limit"};
  EXPECT_NE(doctor_page(facts).find("left), 1200 of 1980 MHz"), std::string::npos);
}

TEST(DoctorPage, SaysByWhatNcclSends) {
  Facts facts = sound_facts();
  facts.build.cuda = true;
  facts.gpu.nccl_unusable.clear();
  facts.gpu.transports = {{"P2P/CUMEM", false, 4}, {"NET/IB/GDRDMA", true, 8}};
  std::string page;
  for (const std::string& line : lines_of(doctor_page(facts)))
    page += line.substr(std::min<std::size_t>(11, line.size()));
  EXPECT_NE(
      page.find("exchange nccl can be used: P2P/CUMEM in a node (4 pairs of ranks), NET/IB/GDRDMA between nodes (8"),
      std::string::npos)
      << page;
}

TEST(DoctorPage, OfOneRankSaysHowToSeeTheLinks) {
  Facts facts = sound_facts();
  facts.ranks.resize(1);
  facts.ceilings.inside.reset();
  facts.ceilings.all_to_all.reset();
  facts.mpi.reads_neighbours.reset();
  const std::string page = doctor_page(facts);
  EXPECT_NE(page.find("links need two ranks: mpiexec -n 2 shardmark doctor"), std::string::npos);
  EXPECT_EQ(page.find("each other's memory"), std::string::npos);
}

TEST(DoctorPage, RanksInOnePlaceShareALine) {
  Facts facts = sound_facts();
  for (RankFacts& rank : facts.ranks) rank.cpus = "0-7";
  facts.ranks.back().threads = 1;
  const std::string page = doctor_page(facts);
  EXPECT_NE(page.find("\n            ranks 0 to 2 each on node1: processors 0-7 (2 cores), 2 threads\n"),
            std::string::npos);
  EXPECT_NE(page.find("\n            rank 3 on node1: processors 0-7 (2 cores), 1 thread\n"), std::string::npos);
}

TEST(DoctorPage, NumbersItsFindings) {
  const auto lines = lines_of(doctor_page(sick_facts()));
  const auto heading = std::ranges::find(lines, "What to change to be faster, and to trust the times:");
  ASSERT_NE(heading, lines.end());
  EXPECT_TRUE((heading + 1)->starts_with("  1. build type RelWithDebInfo")) << *(heading + 1);
}

}  // namespace
}  // namespace shardmark::workloads
