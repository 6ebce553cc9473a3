// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "workloads/command/doctor/findings.hpp"
#include "workloads/command/doctor/test/some_facts.hpp"

namespace shardmark::workloads {
namespace {

/// What makes a rule speak, and what it then says, in part.
struct Sickness {
  std::string_view rule;
  void (*make)(Facts& facts);
  std::vector<std::string> says;
};

const std::vector<Sickness>& sicknesses() {
  static const std::vector<Sickness> all{
      {"build_type", [](Facts& f) { f.build.type = "Debug"; }, {"build type Debug", "cmake --preset release"}},
      {"build_type", [](Facts& f) { f.build.type = ""; }, {"build type none"}},
      {"dirty_build", [](Facts& f) { f.build.dirty = true; }, {"commit 0123456789ab", "git commit"}},
      {"vectors", [](Facts& f) { f.build.vectors = "sse2"; }, {"has avx2", "use sse2", "-DKokkos_ARCH_NATIVE=ON"}},
      {"busy", [](Facts& f) { f.machine.load = 3.2; }, {"load 3.2 on 16 processors"}},
      {"oversubscribed", [](Facts& f) { let_float(f, 2); }, {"4 ranks on 2 of 8 cores", "unset OMP_PROC_BIND"}},
      {"oversubscribed",
       [](Facts& f) {
         let_float(f, 2);
         f.machine.proc_bind = "false";
       },
       {"mpiexec --bind-to none"}},
      {"oversubscribed",
       [](Facts& f) {
         let_float(f, 2);
         f.machine.cores = 2;
         f.machine.proc_bind = "";
       },
       {"mpiexec -n 2"}},
      {"yield", [](Facts& f) { let_float(f, 2); }, {"export OMPI_MCA_mpi_yield_when_idle=1"}},
      {"threads",
       [](Facts& f) { f.ranks[3].threads = 6; },
       {"12 threads on 8 cores", "unset OMP_NUM_THREADS", "--threads 2"}},
      {"idle_cores", [](Facts& f) { f.machine.cores = 64; }, {"8 of 64 cores", "--bind-to none"}},
      {"idle_cores", [](Facts& f) { f.ranks[0].threads = 1; }, {"7 threads on 8 cores"}},
      {"overlap", [](Facts& f) { let_float(f, 8); }, {"share 8 cores", "--map-by slot:PE=2 --bind-to core"}},
      {"overlap",
       [](Facts& f) {
         f.ranks[1].cores = {1, 2, 3};
       },
       {"share 1 core,"}},
      {"bound_together", [](Facts& f) { let_float(f, 8); }, {"OMP_PROC_BIND=close", "unset OMP_PROC_BIND"}},
      {"unbound_threads", [](Facts& f) { f.machine.proc_bind = ""; }, {"export OMP_PROC_BIND=close"}},
      {"numa",
       [](Facts& f) {
         f.ranks[0].cores = {0, 1, 2, 3, 4};
       },
       {"mpiexec -n 2 --map-by numa --bind-to numa"}},
      {"numa_balancing",
       [](Facts& f) { f.machine.numa_balancing = true; },
       {"echo 0 > /proc/sys/kernel/numa_balancing"}},
      {"cpu_quota", [](Facts& f) { f.machine.cpu_quota = 2.5; }, {"8 threads", "2.5 processors", "cpu.max"}},
      {"governor",
       [](Facts& f) { f.machine.governor = "powersave"; },
       {"powersave", "cpupower frequency-set -g performance"}},
      {"huge_pages",
       [](Facts& f) {
         f.ceilings.huge_page_share = 0.0;
         f.machine.transparent_huge_pages = "never";
       },
       {"no huge pages", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"}},
      {"huge_pages", [](Facts& f) { f.ceilings.huge_page_share = 0.4; }, {"40 %", "/proc/sys/vm/compact_memory"}},
      {"single_copy",
       [](Facts& f) { f.mpi.reads_neighbours = false; },
       {"copied twice", "sysctl kernel.yama.ptrace_scope=0", "--cap-add SYS_PTRACE"}},
      {"fabric",
       [](Facts& f) {
         f.mpi.fabrics = {"mlx5_0"};
         f.ranks[3].node = 1;
       },
       {"mlx5_0", "--mca pml ucx"}},
      {"gpu_build", [](Facts& f) { f.machine.gpu_devices = 2; }, {"2 GPUs", "cmake --preset cuda"}},
      {"gpu_ranks",
       [](Facts& f) {
         f.gpu = {{"NVIDIA H200"}, "2.21.5", "ranks 0 and 1 share GPU 0000:3b:00 of node1"};
         f.build.cuda = true;
       },
       {"ranks 0 and 1 share GPU 0000:3b:00 of node1", "mpiexec -n 1"}},
      {"gpu_peers",
       [](Facts& f) {
         f.gpu.apart = {{2, 5}};
       },
       {"1, as 2 and 5", "nvidia-smi topo -m"}},
      {"gpu_turns", [](Facts& f) { f.gpu.sharers = 2; }, {"2 ranks share a GPU", "nvidia-cuda-mps-control -d"}},
      {"gpu_memory",
       [](Facts& f) {
         f.gpu.own.emplace().memory_bytes = std::int64_t{80} << 30;
         f.gpu.free = std::int64_t{20} << 30;
       },
       {"20.0 of 80.0 GiB of the GPU left", "nvidia-smi"}},
      {"gpu_clock",
       [](Facts& f) {
         f.gpu.own.emplace().clock_mhz = 1980;
         f.gpu.free = f.gpu.own->memory_bytes;
         f.gpu.clock = {1200, "its power limit"};
       },
       {"1200 of 1980 MHz", "its power limit", "nvidia-smi -q"}},
      {"gpu_settings",
       [](Facts& f) {
         f.gpu.nccl_unusable = "";
         f.gpu.settings = {"NCCL_P2P_DISABLE=1"};
       },
       {"NCCL_P2P_DISABLE=1; unset it"}},
      {"gpu_transport",
       [](Facts& f) {
         f.gpu.transports = {{"P2P/CUMEM", false, 4}, {"NET/Socket", true, 8}};
         f.mpi.fabrics = {"mlx5_0"};
       },
       {"mlx5_0 is idle", "NCCL talks by sockets"}},
      {"memory", [](Facts& f) { f.machine.memory_available = 20'000'000'000; }, {"20.0 of 64.0 GB"}},
  };
  return all;
}

std::optional<std::string> found_by(std::string_view name, const Facts& facts) {
  return std::ranges::find(rules(), name, &FindingRule::name)->find(facts);
}

TEST(Findings, NothingIsToBeChangedWhereAllIsWell) { EXPECT_EQ(findings(sound_facts()), std::vector<std::string>()); }

TEST(Findings, NothingIsClaimedOfWhatTheSystemDoesNotSay) {
  Facts facts = sound_facts();
  facts.machine = MachineFacts();
  facts.machine.proc_bind = "close";
  facts.mpi = MpiFacts();
  EXPECT_EQ(findings(facts), std::vector<std::string>());
}

TEST(Findings, EachRuleSpeaksOfItsSicknessInOneLine) {
  for (const Sickness& sickness : sicknesses()) {
    Facts facts = sound_facts();
    sickness.make(facts);
    const auto text = found_by(sickness.rule, facts);
    ASSERT_TRUE(text) << sickness.rule;
    for (const std::string& part : sickness.says)
      EXPECT_NE(text->find(part), std::string::npos) << part << " in " << *text;
    EXPECT_LE(text->size(), 115U) << "fits no line: " << *text;
    const auto all = findings(facts);
    EXPECT_NE(std::ranges::find(all, *text), all.end());
  }
}

TEST(Findings, EveryRuleHasASicknessAndANameOfItsOwn) {
  std::set<std::string_view> names, made;
  for (const FindingRule& rule : rules()) names.insert(rule.name);
  for (const Sickness& sickness : sicknesses()) made.insert(sickness.rule);
  EXPECT_EQ(names, made);
  EXPECT_EQ(names.size(), rules().size());
}

TEST(Findings, RanksThatYieldOrHaveCoresEnoughAreNotToldToYield) {
  Facts facts = sound_facts();
  let_float(facts, 2);
  facts.mpi.yields = true;
  EXPECT_FALSE(found_by("yield", facts));
  facts.mpi.yields.reset();
  EXPECT_FALSE(found_by("yield", facts));
  EXPECT_FALSE(found_by("yield", sound_facts()));
}

TEST(Findings, XpmemNeedsNoLeaveToReadNeighbours) {
  Facts facts = sound_facts();
  facts.mpi.reads_neighbours = false;
  facts.mpi.copies = "xpmem";
  EXPECT_FALSE(found_by("single_copy", facts));
  facts.mpi.reads_neighbours.reset();  // a rank alone
  facts.mpi.copies = "";
  EXPECT_FALSE(found_by("single_copy", facts));
}

TEST(Findings, RanksOfOtherNodesUseOtherCores) {
  Facts facts = sound_facts();
  let_float(facts, 4);
  facts.ranks[2].node = facts.ranks[3].node = 1;
  const CoreUse use = core_use(facts);
  EXPECT_EQ((std::vector{use.ranks, use.threads, use.cores, use.shared}), (std::vector<std::int64_t>{2, 4, 4, 4}));
}

}  // namespace
}  // namespace shardmark::workloads
