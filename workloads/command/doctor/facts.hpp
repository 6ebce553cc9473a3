// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/device_memory.hpp"
#include "comm/exchange/nccl_transports.hpp"
#include "workloads/command/doctor/gpu_clock.hpp"

namespace shardmark::workloads {

/// Where a rank may run, as it was observed.
struct RankFacts {
  std::string host;
  int node = 0;
  std::string cpus;        ///< hardware threads, "0-3,8"
  std::vector<int> cores;  ///< of its node
  std::int64_t threads = 1;
};

struct BuildFacts {
  std::string version, commit, compiler, flags, type;
  bool dirty = false;
  std::string vectors;      ///< that the kernels were compiled for: avx512, avx2, sse2 or other
  std::string cpu_vectors;  ///< the widest of these that the processor has
  bool cuda = false;
};

/// Of the node of rank 0. A text is empty and a number 0 where the system does not say.
struct MachineFacts {
  std::string cpu, kernel, governor, transparent_huge_pages;
  std::int64_t logical_cpus = 0, cores = 0, numa_nodes = 0;
  std::optional<bool> smt = {};
  double cpu_quota = 0.0;  ///< processors' worth of time that the control group allows; 0: no limit
  double load = 0.0;       ///< processes that ran in the last minute, on average
  bool numa_balancing = false;
  std::int64_t memory = 0, memory_available = 0;  ///< bytes
  std::string proc_bind = {};                     ///< OMP_PROC_BIND
  std::int64_t gpu_devices = 0;                   ///< that the system shows, whatever this program was built for
};

struct MpiFacts {
  std::string library;                   ///< "Open MPI v4.1.4"
  std::vector<std::string> components;   ///< that Open MPI has opened: "pml ob1", "btl self vader"
  std::vector<std::string> settings;     ///< that limit the choice of them: "pml ^ucx"
  std::optional<bool> yields;            ///< when it waits
  std::optional<bool> reads_neighbours;  ///< whether a rank can read another's memory of its node: copies once
  std::string copies;                    ///< how Open MPI passes large messages within a node: cma, xpmem, knem, none
  std::vector<std::string> fabrics;      ///< InfiniBand and its like: names of the devices
};

/// Slowest rank, while all do the same.
struct CeilingFacts {
  std::int64_t table_bytes = 0;
  double triad = 0.0;            ///< bytes per second
  double gather = 0.0;           ///< bytes per second, rows of 64 floats
  double huge_page_share = 0.0;  ///< of the table that was gathered from, 0 to 1
  struct Link {
    double latency = 0.0;    ///< seconds of 64 bytes, one way
    double bandwidth = 0.0;  ///< bytes per second of a large message
  };
  std::optional<Link> inside = {}, between = {};  ///< ranks of a node, nodes
  std::int64_t all_to_all_bytes = 0;              ///< that each rank sends in all
  std::optional<double> all_to_all = {};          ///< seconds of MPI_Alltoallv
};

struct GpuFacts {
  std::vector<std::string> names;
  std::string nccl;                              ///< version
  std::string nccl_unusable;                     ///< why these ranks cannot use exchange nccl; empty: they can
  std::vector<std::pair<int, int>> apart = {};   ///< GPUs of the node that do not reach each other's memory
  std::optional<comm::GpuDescription> own = {};  ///< of rank 0
  std::optional<GpuClock> clock = {};            ///< of that GPU, right behind the ceilings
  std::int64_t free = 0;                         ///< bytes of it which nothing has taken yet
  std::size_t sharers = 0;                       ///< ranks that take that GPU
  bool mps = false;                              ///< the service runs by which processes share one at a time
  std::vector<std::string> settings = {};        ///< variables that say how NCCL reaches GPUs, "NCCL_P2P_DISABLE=1"
  std::vector<comm::NcclTransport> transports = {};
};

/// What `shardmark doctor` has found out, and nothing that finds out more.
struct Facts {
  BuildFacts build;
  MachineFacts machine;
  std::vector<RankFacts> ranks;
  MpiFacts mpi;
  CeilingFacts ceilings;
  GpuFacts gpu;
};

BuildFacts build_facts();
/// To be asked before anything runs that makes load.
MachineFacts machine_facts();
/// Collective.
MpiFacts mpi_facts(const comm::Communicator& world);
/// Measures for a few seconds. Collective; Kokkos must be initialised.
CeilingFacts ceiling_facts(const comm::Communicator& world);
/// Collective.
GpuFacts gpu_facts(const comm::Communicator& world);

}  // namespace shardmark::workloads
