// SPDX-License-Identifier: Apache-2.0
#include "workloads/batches/compute_threads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "comm/device_memory.hpp"
#include "kernels/huge_pages.hpp"
#include "kernels/simd.hpp"
#include "reference/error.hpp"
#include "workloads/batches/execution.hpp"

namespace shardmark::workloads {
namespace {

Kokkos::InitializationSettings settings(const comm::Communicator& world, const comm::Affinity& affinity,
                                        std::int64_t threads) {
  if (const std::string reason = comm::built_for_gpus() ? comm::no_gpus(world) : ""; !reason.empty())
    throw InputError(fmt::format("this build computes on GPUs, and {}", reason));
  int count = comm::threads_for_rank(world, affinity);
  if (const char* wanted = std::getenv("OMP_NUM_THREADS")) count = std::max(1, std::atoi(wanted));
  if (threads > 0) count = static_cast<int>(threads);
  auto given = Kokkos::InitializationSettings().set_num_threads(count).set_disable_warnings(true);
  if (const int gpu = comm::gpu_of_rank(world); gpu >= 0) given.set_device_id(gpu);  // the one of the exchanges
  return given;
}

kernels::Readers readers = kernels::Readers::near;

}  // namespace

kernels::Readers readers_in_node() { return readers; }

struct ComputeThreads::Guard {
  explicit Guard(const Kokkos::InitializationSettings& settings) : kokkos(settings) {}
  Kokkos::ScopeGuard kokkos;
};

ComputeThreads::ComputeThreads(const comm::Communicator& world, const comm::Affinity& affinity, std::int64_t threads) {
  kernels::keep_arrays_in_heap();
  readers = comm::neighbours_share_cache(world, affinity) ? kernels::Readers::near : kernels::Readers::far;
  guard_ = std::make_unique<Guard>(settings(world, affinity, threads));
}

ComputeThreads::~ComputeThreads() = default;

std::int64_t compute_thread_count() { return Kokkos::DefaultHostExecutionSpace().concurrency(); }

std::string kokkos_version() {
  return fmt::format("{}.{}.{}", KOKKOS_VERSION / 10000, KOKKOS_VERSION / 100 % 100, KOKKOS_VERSION % 100);
}

std::string kokkos_configuration() {
  std::ostringstream text;
  Kokkos::print_configuration(text);
  return text.str();
}

std::string compiled_vectors() {
#if defined(SHARDMARK_AVX512)
  return "avx512";
#elif defined(SHARDMARK_AVX2)
  return "avx2";
#elif defined(SHARDMARK_SSE2)
  return "sse2";
#else
  return "other";
#endif
}

}  // namespace shardmark::workloads
