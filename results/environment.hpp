// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace shardmark::results {

/// This is the version of results files; readers refuse any other.
inline constexpr int format_version = 2;

/// These are the only environment variables that are ever recorded: none of them names a person, an account or a
/// secret.
inline constexpr std::array<std::string_view, 58> recorded_variables{
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "OMP_SCHEDULE",
    "OMP_DYNAMIC",
    "OMP_WAIT_POLICY",
    "OMP_STACKSIZE",
    "OMP_THREAD_LIMIT",
    "OMP_MAX_ACTIVE_LEVELS",
    "OMP_CANCELLATION",
    "GOMP_CPU_AFFINITY",
    "GOMP_SPINCOUNT",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "KOKKOS_NUM_THREADS",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_CLUSTER_NAME",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_CPUS_PER_NODE",
    "SLURM_NTASKS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CPUS_ON_NODE",
    "SLURM_CPU_BIND",
    "SLURM_CPU_BIND_TYPE",
    "SLURM_MEM_BIND",
    "SLURM_MEM_PER_NODE",
    "SLURM_DISTRIBUTION",
    "SLURM_MPI_TYPE",
    "SLURM_THREADS_PER_CORE",
    "SLURM_GPUS_PER_TASK",
    "SLURM_GPU_BIND",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "NVIDIA_TF32_OVERRIDE",
    "NCCL_ALGO",
    "NCCL_PROTO",
    "NCCL_MIN_NCHANNELS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_P2P_DISABLE",
    "NCCL_P2P_LEVEL",
    "NCCL_SHM_DISABLE",
    "NCCL_NVLS_ENABLE",
    "NCCL_CUMEM_ENABLE",
    "NCCL_NET",
    "NCCL_NET_GDR_LEVEL",
    "NCCL_IB_DISABLE",
    "NCCL_IB_HCA",
    "NCCL_SOCKET_IFNAME",
    "UCX_TLS",
    "UCX_NET_DEVICES",
};

/// Holds what only the program knows, gathered by the caller.
struct RunContext {
  std::vector<std::string> arguments;  ///< argv
  std::uint64_t seed = 0;
  nlohmann::ordered_json ranks;      ///< [{"rank": 0, "host": "node1", "cpus": "0-3", ...}, ...] as observed
  nlohmann::ordered_json libraries;  ///< {"mpi": "...", "kokkos": "...", "hdf5": "..."}
};

/// Returns the time as "2026-11-21T06:12:00Z".
std::string utc_time(std::chrono::system_clock::time_point time = std::chrono::system_clock::now());

/// Returns {"version", "git_hash", "dirty", "compiler", "flags", "type"} of this program.
nlohmann::ordered_json build_json();

/// Returns the first line of a results file, {"record": "environment", ...}; docs/record.md states each field.
nlohmann::ordered_json environment_record(const RunContext& context);

}  // namespace shardmark::results
