// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace shardmark::comm {

/// These are the processing units where this process may run now, as hwloc sees them (binding and cgroup applied).
struct Affinity {
  std::string processing_units;  ///< hardware threads by their numbers in the operating system, "0-3,8"
  std::vector<int> cores;        ///< hwloc's logical numbers of the cores that hold them, ascending
  std::vector<int> caches = {};  ///< hwloc's logical numbers of the last-level caches that these use, ascending
};

/// Returns the affinity of this process. Throws std::runtime_error when hwloc cannot read the machine.
Affinity observed_affinity();

/// Holds the cores that threads are bound to, with those of their hardware threads that the process may use.
class CoreSet {
 public:
  /// `cores` must be a subset of `within.cores`.
  CoreSet(const Affinity& within, std::span<const int> cores);

  /// Binds the calling thread, and those that it makes later. Throws std::runtime_error where the system refuses.
  void bind_thread() const;

  /// Returns the hardware threads of the set in the format of Affinity::processing_units.
  std::string processing_units() const;

 private:
  struct Hardware;
  std::shared_ptr<const Hardware> hardware_;
};

/// Returns the sum of the bytes of all last-level caches of this host; 0 where hwloc sees none.
std::int64_t last_level_cache_bytes();

/// Returns whether at least half of the other ranks of this rank's node may use a last-level cache that it may use too,
/// or there are no others. Collective.
bool neighbours_share_cache(const Communicator& comm, const Affinity& affinity);

/// Computes what neighbours_share_cache returns for the rank-th rank of one node: caches_of_ranks[r] are those of its
/// r-th rank.
bool most_share_cache(const std::vector<std::vector<int>>& caches_of_ranks, int rank);

/// Returns the number of threads for this rank: each core that it may use counts as 1 divided by the number of ranks of
/// its node that may use it too; at least 1. Collective.
int threads_for_rank(const Communicator& comm, const Affinity& affinity);

/// Computes what threads_for_rank returns for the rank-th rank of one node: cores_of_ranks[r] are the cores of its r-th
/// rank.
int share_of_cores(const std::vector<std::vector<int>>& cores_of_ranks, int rank);

}  // namespace shardmark::comm
