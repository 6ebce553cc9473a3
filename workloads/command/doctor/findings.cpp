// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/doctor/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace shardmark::workloads {
namespace {

using Finding = std::optional<std::string>;

constexpr double most_of = 0.9;  // a share that is as good as all

Finding build_type(const Facts& facts) {
  if (facts.build.type == "Release") return {};
  return fmt::format("build type {}: slower kernels; cmake --preset release && cmake --build --preset release",
                     facts.build.type.empty() ? "none" : facts.build.type);
}

Finding dirty_build(const Facts& facts) {
  if (!facts.build.dirty) return {};
  return fmt::format("built from changed files: results name commit {} wrongly; git commit, then build",
                     facts.build.commit);
}

Finding vectors(const Facts& facts) {
  constexpr std::array<std::string_view, 4> widths{"other", "sse2", "avx2", "avx512"};
  const auto width = [&](const std::string& name) { return std::ranges::find(widths, name) - widths.begin(); };
  if (width(facts.build.vectors) >= width(facts.build.cpu_vectors)) return {};
  return fmt::format(
      "the processor has {}, the kernels use {}; build Kokkos with -DKokkos_ARCH_NATIVE=ON (scripts/setup)",
      facts.build.cpu_vectors, facts.build.vectors);
}

Finding busy(const Facts& facts) {
  const auto& machine = facts.machine;
  if (machine.load < std::max(0.5, 0.1 * static_cast<double>(machine.logical_cpus))) return {};
  return fmt::format("load {:.1f} on {} processors in the last minute disturbs what is timed; end what runs (see top)",
                     machine.load, machine.logical_cpus);
}

bool binds(const std::string& proc_bind) { return !proc_bind.empty() && proc_bind != "false" && proc_bind != "FALSE"; }

Finding oversubscribed(const Facts& facts) {
  const CoreUse use = core_use(facts);
  if (use.ranks <= use.cores) return {};
  std::string remedy = fmt::format("mpiexec -n {}", use.cores);
  if (use.cores < facts.machine.cores) remedy = "mpiexec --bind-to none";
  if (binds(facts.machine.proc_bind)) remedy = "unset OMP_PROC_BIND";
  return fmt::format("{} ranks on {} of {} cores take turns: every exchange waits for the last; {}", use.ranks,
                     use.cores, facts.machine.cores, remedy);
}

Finding yield(const Facts& facts) {
  const CoreUse use = core_use(facts);
  if (use.ranks <= use.cores || facts.mpi.yields.value_or(true)) return {};
  return "a waiting rank keeps its core from the rank it waits for; export OMPI_MCA_mpi_yield_when_idle=1";
}

Finding threads(const Facts& facts) {
  const CoreUse use = core_use(facts);
  if (use.ranks > use.cores || use.threads <= use.cores) return {};
  return fmt::format("{} threads on {} cores: phases end with the last; unset OMP_NUM_THREADS, or --threads {}",
                     use.threads, use.cores, std::max(std::int64_t{1}, use.cores / use.ranks));
}

Finding idle_cores(const Facts& facts) {
  const CoreUse use = core_use(facts);
  if (use.ranks > use.cores) return {};
  if (facts.machine.cores > use.cores)
    return fmt::format("the ranks may run on {} of {} cores; mpiexec --bind-to none, or more cores for the job",
                       use.cores, facts.machine.cores);
  if (use.threads >= use.cores) return {};
  return fmt::format("{} threads on {} cores, the others idle; unset OMP_NUM_THREADS, or --threads {}", use.threads,
                     use.cores, use.cores / use.ranks);
}

Finding overlap(const Facts& facts) {
  const CoreUse use = core_use(facts);
  if (use.shared == 0 || use.ranks > use.cores) return {};
  return fmt::format("several ranks share {} core{}, so threads move; mpiexec --map-by slot:PE={} --bind-to core",
                     use.shared, use.shared == 1 ? "" : "s", std::max(std::int64_t{1}, use.cores / use.ranks));
}

Finding bound_together(const Facts& facts) {
  const CoreUse use = core_use(facts);
  if (use.shared == 0 || use.ranks > use.cores || !binds(facts.machine.proc_bind)) return {};
  return fmt::format("OMP_PROC_BIND={} puts threads of several ranks on the same cores; unset OMP_PROC_BIND",
                     facts.machine.proc_bind);
}

Finding unbound_threads(const Facts& facts) {
  const bool several = std::ranges::any_of(facts.ranks, [](const RankFacts& rank) { return rank.threads > 1; });
  if (core_use(facts).shared > 0 || !several || !facts.machine.proc_bind.empty()) return {};
  return "threads may move away from their caches; ranks alone or bound: export OMP_PROC_BIND=close OMP_PLACES=cores";
}

Finding numa(const Facts& facts) {
  const auto& machine = facts.machine;
  if (machine.numa_nodes < 2 || machine.cores == 0) return {};
  const auto wide = [&](const RankFacts& rank) {
    return rank.node == 0 && std::ssize(rank.cores) * machine.numa_nodes > machine.cores;
  };
  if (std::ranges::none_of(facts.ranks, wide)) return {};
  return fmt::format("ranks span NUMA nodes and read far memory; mpiexec -n {} --map-by numa --bind-to numa",
                     machine.numa_nodes);
}

Finding numa_balancing(const Facts& facts) {
  if (facts.machine.numa_nodes < 2 || !facts.machine.numa_balancing) return {};
  return "NUMA balancing unmaps pages of tables to watch them; echo 0 > /proc/sys/kernel/numa_balancing";
}

Finding cpu_quota(const Facts& facts) {
  const double quota = facts.machine.cpu_quota;
  const CoreUse use = core_use(facts);
  if (quota == 0.0 || quota >= static_cast<double>(use.threads)) return {};
  return fmt::format(
      "{} threads are stopped when they used {:.1f} processors; raise cpu.max (docker --cpus), or fewer ranks",
      use.threads, quota);
}

Finding governor(const Facts& facts) {
  const std::string& governor = facts.machine.governor;
  if (governor.empty() || governor == "performance") return {};
  return fmt::format("governor {}: clocks rise late, times vary; cpupower frequency-set -g performance", governor);
}

Finding huge_pages(const Facts& facts) {
  const double share = facts.ceilings.huge_page_share;
  if (share >= most_of) return {};
  if (facts.machine.transparent_huge_pages == "never")
    return "no huge pages: random rows walk long page tables; echo madvise > "
           "/sys/kernel/mm/transparent_hugepage/enabled";
  return fmt::format("{:.0f} % of a table in huge pages: memory is in pieces; echo 1 > /proc/sys/vm/compact_memory",
                     100 * share);
}

Finding single_copy(const Facts& facts) {
  const auto& mpi = facts.mpi;
  if (mpi.reads_neighbours.value_or(true) || mpi.copies == "xpmem" || mpi.copies == "knem") return {};
  return "large messages are copied twice; sysctl kernel.yama.ptrace_scope=0, or docker --cap-add SYS_PTRACE";
}

Finding fabric(const Facts& facts) {
  const auto& mpi = facts.mpi;
  const bool several = std::ranges::any_of(facts.ranks, [](const RankFacts& rank) { return rank.node > 0; });
  if (!several || mpi.fabrics.empty() || std::ranges::find(mpi.components, "pml ob1") == mpi.components.end())
    return {};
  return fmt::format("{} is idle, nodes talk by TCP (pml ob1); mpiexec --mca pml ucx", mpi.fabrics.front());
}

Finding gpu_build(const Facts& facts) {
  if (facts.build.cuda || facts.machine.gpu_devices == 0) return {};
  return fmt::format(
      "{} GPUs, built without CUDA; scripts/setup cuda && cmake --preset cuda && cmake --build --preset cuda",
      facts.machine.gpu_devices);
}

Finding gpu_ranks(const Facts& facts) {
  if (facts.gpu.names.empty() || facts.gpu.nccl_unusable.empty()) return {};
  return fmt::format("no NCCL, which wants a GPU per rank: {}; mpiexec -n {}", facts.gpu.nccl_unusable,
                     facts.gpu.names.size());
}

Finding gpu_peers(const Facts& facts) {
  if (facts.gpu.apart.empty()) return {};
  const auto [first, second] = facts.gpu.apart.front();
  return fmt::format("pairs of GPUs that reach each other through the host alone: {}, as {} and {}; nvidia-smi topo -m",
                     facts.gpu.apart.size(), first, second);
}

Finding gpu_turns(const Facts& facts) {
  if (facts.gpu.sharers < 2 || facts.gpu.mps) return {};
  return fmt::format("{} ranks share a GPU and take turns on it; one rank a GPU, or nvidia-cuda-mps-control -d",
                     facts.gpu.sharers);
}

Finding gpu_memory(const Facts& facts) {
  if (!facts.gpu.own || 10 * facts.gpu.free >= 8 * facts.gpu.own->memory_bytes) return {};
  return fmt::format(
      "{:.1f} of {:.1f} GiB of the GPU left: others compute there, or large tables are refused; nvidia-smi",
      static_cast<double>(facts.gpu.free) * 0x1p-30, static_cast<double>(facts.gpu.own->memory_bytes) * 0x1p-30);
}

Finding gpu_clock(const Facts& facts) {
  if (!facts.gpu.own || !facts.gpu.clock || facts.gpu.clock->held_by.empty()) return {};
  return fmt::format("the GPU runs at {} of {} MHz, held by {}; nvidia-smi -q -d PERFORMANCE,CLOCK,POWER",
                     facts.gpu.clock->mhz, facts.gpu.own->clock_mhz, facts.gpu.clock->held_by);
}

/// Of settings, those that keep GPUs of a node from each other's memory, if NCCL can be used at all.
Finding gpu_settings(const Facts& facts) {
  if (!facts.gpu.nccl_unusable.empty()) return {};
  for (const std::string& setting : facts.gpu.settings)
    if (setting == "NCCL_P2P_DISABLE=1" || setting == "NCCL_P2P_LEVEL=LOC")
      return fmt::format("GPUs exchange by way of the host, as {}; unset it", setting);
  return {};
}

/// NCCL takes sockets where it finds no other way between nodes.
Finding gpu_transport(const Facts& facts) {
  const bool sockets = std::ranges::any_of(facts.gpu.transports, [](const comm::NcclTransport& transport) {
    return transport.between_nodes && transport.name.starts_with("NET/Socket");
  });
  if (!sockets || facts.mpi.fabrics.empty()) return {};
  return fmt::format("{} is idle, NCCL talks by sockets; NCCL_DEBUG=INFO says why, see NCCL_IB_HCA and NCCL_NET",
                     facts.mpi.fabrics.front());
}

Finding memory(const Facts& facts) {
  const auto& machine = facts.machine;
  if (machine.memory == 0 || 2 * machine.memory_available >= machine.memory) return {};
  return fmt::format("{:.1f} of {:.1f} GB left: large tables are refused; see ps aux --sort -rss, or --scale 1/N",
                     1e-9 * static_cast<double>(machine.memory_available), 1e-9 * static_cast<double>(machine.memory));
}

constexpr std::array all_rules{
    FindingRule{"build_type", build_type},
    FindingRule{"dirty_build", dirty_build},
    FindingRule{"vectors", vectors},
    FindingRule{"busy", busy},
    FindingRule{"oversubscribed", oversubscribed},
    FindingRule{"yield", yield},
    FindingRule{"threads", threads},
    FindingRule{"idle_cores", idle_cores},
    FindingRule{"overlap", overlap},
    FindingRule{"bound_together", bound_together},
    FindingRule{"unbound_threads", unbound_threads},
    FindingRule{"numa", numa},
    FindingRule{"numa_balancing", numa_balancing},
    FindingRule{"cpu_quota", cpu_quota},
    FindingRule{"governor", governor},
    FindingRule{"huge_pages", huge_pages},
    FindingRule{"single_copy", single_copy},
    FindingRule{"fabric", fabric},
    FindingRule{"gpu_build", gpu_build},
    FindingRule{"gpu_ranks", gpu_ranks},
    FindingRule{"gpu_peers", gpu_peers},
    FindingRule{"gpu_turns", gpu_turns},
    FindingRule{"gpu_memory", gpu_memory},
    FindingRule{"gpu_clock", gpu_clock},
    FindingRule{"gpu_settings", gpu_settings},
    FindingRule{"gpu_transport", gpu_transport},
    FindingRule{"memory", memory},
};

}  // namespace

std::span<const FindingRule> rules() { return all_rules; }

std::vector<std::string> findings(const Facts& facts) {
  std::vector<std::string> found;
  for (const FindingRule& rule : rules())
    if (auto text = rule.find(facts)) found.push_back(std::move(*text));
  return found;
}

CoreUse core_use(const Facts& facts) {
  CoreUse use;
  std::map<int, int> ranks_of_core;
  for (const RankFacts& rank : facts.ranks) {
    if (rank.node != 0) continue;
    ++use.ranks;
    use.threads += rank.threads;
    for (const int core : rank.cores) ++ranks_of_core[core];
  }
  use.cores = std::ssize(ranks_of_core);
  for (const auto& [core, ranks] : ranks_of_core) use.shared += ranks > 1 ? 1 : 0;
  return use;
}

}  // namespace shardmark::workloads
