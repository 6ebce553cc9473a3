// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/command/doctor/facts.hpp"

namespace shardmark::workloads {

/// Four ranks of two threads on a node of eight cores, where nothing is to be changed.
inline Facts sound_facts() {
  Facts facts{.build = {.version = "0.1.0",
                        .commit = "0123456789ab",
                        .compiler = "GNU 12.2.0",
                        .flags = "-O3 -DNDEBUG",
                        .type = "Release",
                        .dirty = false,
                        .vectors = "avx2",
                        .cpu_vectors = "avx2",
                        .cuda = false},
              .machine = {.cpu = "Some Processor",
                          .kernel = "6.1.0",
                          .governor = "performance",
                          .transparent_huge_pages = "madvise",
                          .logical_cpus = 16,
                          .cores = 8,
                          .numa_nodes = 2,
                          .smt = true,
                          .cpu_quota = 0.0,
                          .load = 0.1,
                          .numa_balancing = false,
                          .memory = 64'000'000'000,
                          .memory_available = 60'000'000'000,
                          .proc_bind = "close",
                          .gpu_devices = 0},
              .ranks = {},
              .mpi = {.library = "Open MPI v4.1.4",
                      .components = {"pml ob1", "btl self tcp vader"},
                      .settings = {},
                      .yields = false,
                      .reads_neighbours = true,
                      .copies = "cma",
                      .fabrics = {}},
              .ceilings = {.table_bytes = 512 << 20,
                           .triad = 12.5e9,
                           .gather = 4.25e9,
                           .huge_page_share = 1.0,
                           .inside = CeilingFacts::Link{0.5e-6, 5e9},
                           .between = {},
                           .all_to_all_bytes = 1 << 20,
                           .all_to_all = 500e-6},
              .gpu = {.names = {}, .nccl = "", .nccl_unusable = "this build has no CUDA"}};
  for (int rank = 0; rank < 4; ++rank)
    facts.ranks.push_back({.host = "node1",
                           .node = 0,
                           .cpus = std::to_string(2 * rank) + "-" + std::to_string(2 * rank + 1),
                           .cores = {2 * rank, 2 * rank + 1},
                           .threads = 2});
  return facts;
}

/// All of its ranks may use the cores [0, cores).
inline void let_float(Facts& facts, int cores) {
  for (RankFacts& rank : facts.ranks) {
    rank.cores.clear();
    for (int core = 0; core < cores; ++core) rank.cores.push_back(core);
  }
}

}  // namespace shardmark::workloads
