// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "comm/agree.hpp"
#include "comm/device_memory.hpp"
#include "comm/exchange/nccl.hpp"
#include "comm/exchange/nccl_transports.hpp"
#include "results/build_info.hpp"
#include "results/machine.hpp"
#include "workloads/batches/compute_threads.hpp"
#include "workloads/command/doctor/facts.hpp"
#include "workloads/measure/control_groups.hpp"

namespace shardmark::workloads {
namespace {

namespace fs = std::filesystem;

/// The first word of a file that is a number; 0 without one.
double number_at(const fs::path& file) {
  double value = 0.0;
  std::ifstream(file) >> value;
  return value;
}

/// Processors' worth of time that the control groups of this process allow: the least of them and those they lie in.
double cpu_quota() {
  double least = 0.0;
  const auto take = [&](double quota, double period) {
    if (quota > 0.0 && period > 0.0 && (least == 0.0 || quota / period < least)) least = quota / period;
  };
  for (const fs::path& group : control_groups("cpu")) {
    take(number_at(group / "cpu.cfs_quota_us"), number_at(group / "cpu.cfs_period_us"));  // version 1
    std::ifstream file(group / "cpu.max");  // "200000 100000", or "max 100000"
    double quota = 0.0, period = 0.0;
    if (file >> quota >> period) take(quota, period);
  }
  return least;
}

std::int64_t gpu_devices() {
  std::int64_t count = 0;
  std::error_code error;
  for (fs::directory_iterator entry("/proc/driver/nvidia/gpus", error), end; !error && entry != end;
       entry.increment(error))
    ++count;
  return count;
}

std::string processor_vectors() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return "avx512";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
  return "sse2";
#else
  return "other";
#endif
}

}  // namespace

BuildFacts build_facts() {
  const results::BuildInfo& build = results::build_info();
  BuildFacts facts{.version = std::string(build.version),
                   .commit = std::string(build.git_hash.substr(0, 12)),
                   .compiler = std::string(build.compiler),
                   .flags = std::string(build.flags),
                   .type = std::string(build.type),
                   .dirty = build.dirty,
                   .vectors = compiled_vectors(),
                   .cpu_vectors = processor_vectors()};
  facts.cuda = !comm::nccl_version().empty();
  return facts;
}

MachineFacts machine_facts() {
  const auto machine = results::describe_machine();
  const auto text = [&](const char* key) {
    return machine.at(key).is_string() ? machine.at(key).get<std::string>() : "";
  };
  const auto number = [&](const char* key) {
    return machine.at(key).is_number() ? machine.at(key).get<std::int64_t>() : 0;
  };
  MachineFacts facts{.cpu = text("cpu"),
                     .kernel = text("kernel"),
                     .governor = text("governor"),
                     .transparent_huge_pages = text("transparent_huge_pages"),
                     .logical_cpus = number("logical_cpus"),
                     .cores = number("cores"),
                     .numa_nodes = number("numa_nodes"),
                     .cpu_quota = cpu_quota(),
                     .load = number_at("/proc/loadavg"),
                     .numa_balancing = number_at("/proc/sys/kernel/numa_balancing") > 0.0,
                     .memory = number("memory_bytes"),
                     .memory_available = memory_available(),
                     .gpu_devices = gpu_devices()};
  if (machine.at("smt").is_boolean()) facts.smt = machine.at("smt").get<bool>();
  if (const char* bind = std::getenv("OMP_PROC_BIND")) facts.proc_bind = bind;
  return facts;
}

namespace {

/// Where the service of CUDA has its pipes that lets several processes compute on a GPU at a time.
bool mps_runs() {
  const char* folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  std::error_code error;
  return fs::exists(fs::path(folder != nullptr ? folder : "/tmp/nvidia-mps") / "control", error);
}

std::vector<std::string> nccl_settings() {
  std::vector<std::string> settings;
  for (const char* name : {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE",
                           "NCCL_SOCKET_IFNAME", "NCCL_ALGO", "NCCL_NVLS_ENABLE"})
    if (const char* value = std::getenv(name)) settings.push_back(fmt::format("{}={}", name, value));
  return settings;
}

}  // namespace

GpuFacts gpu_facts(const comm::Communicator& world) {
  GpuFacts facts{.names = comm::gpu_names(),
                 .nccl = comm::nccl_version(),
                 .nccl_unusable = comm::Nccl::unusable(world),
                 .apart = comm::agree(world, comm::gpus_apart),
                 .own = comm::agree(world, [&] { return comm::describe_gpu(world); }),
                 .mps = mps_runs(),
                 .settings = nccl_settings(),
                 .transports = comm::nccl_transports(world)};
  if (facts.own) facts.clock = gpu_clock(facts.own->address);
  if (!comm::no_gpus(world).empty()) return facts;
  const comm::GpuMemory memory = comm::gpu_memory(world);
  facts.free = memory.free;
  facts.sharers = memory.sharers.size();
  return facts;
}

}  // namespace shardmark::workloads
