// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "comm/affinity.hpp"
#include "comm/communicator.hpp"
#include "kernels/readers.hpp"

namespace shardmark::workloads {

/// Runs Kokkos as long as the object lives. This header includes no Kokkos, so that who only starts it need not.
class ComputeThreads {
 public:
  /// Starts `threads` of them on this rank; for 0 as many as OMP_NUM_THREADS says, or else as are this rank's share of
  /// the node.
  ComputeThreads(const comm::Communicator& world, const comm::Affinity& affinity, std::int64_t threads);
  ~ComputeThreads();
  ComputeThreads(const ComputeThreads&) = delete;
  ComputeThreads& operator=(const ComputeThreads&) = delete;

 private:
  struct Guard;
  std::unique_ptr<Guard> guard_;
};

/// Returns whether the other ranks of the node read what this one sends from a cache that it shares
/// (comm::neighbours_share_cache()), as ComputeThreads has found; near before.
kernels::Readers readers_in_node();

/// Returns the number of threads that steps compute on, on this rank. Kokkos has started.
std::int64_t compute_thread_count();

/// Returns "4.7.1".
std::string kokkos_version();
/// Returns what Kokkos prints of its configuration. Kokkos has started.
std::string kokkos_configuration();
/// Returns the vector instructions that kernels/simd.hpp was compiled for: avx512, avx2, sse2 or other.
std::string compiled_vectors();

}  // namespace shardmark::workloads
