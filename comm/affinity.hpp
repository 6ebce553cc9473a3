// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace shardmark::comm {

/// Where this process may run now, as hwloc sees it (binding and cgroup applied).
struct Affinity {
  std::string processing_units;  ///< hardware threads by their numbers in the operating system, "0-3,8"
  std::vector<int> cores;        ///< hwloc's logical numbers of the cores that hold them, ascending
};

/// Throws std::runtime_error when hwloc cannot read the machine.
Affinity observed_affinity();

/// Cores that threads are bound to, with those of their hardware threads that the process may use.
class CoreSet {
 public:
  /// cores: some of those of `within`.
  CoreSet(const Affinity& within, std::span<const int> cores);

  /// Binds the calling thread, and those that it makes later. Throws std::runtime_error where the system refuses.
  void bind_thread() const;

  /// As Affinity::processing_units.
  std::string processing_units() const;

 private:
  struct Hardware;
  std::shared_ptr<const Hardware> hardware_;
};

/// Bytes of the last-level caches of this host, all of them together; 0 where hwloc sees none.
std::int64_t last_level_cache_bytes();

/// Threads for this rank: the cores it may use, each divided by the ranks of its node that may use it too; at least 1.
/// Collective.
int threads_for_rank(const Communicator& comm, const Affinity& affinity);

/// The rule of threads_for_rank: cores_of_ranks[r] are the cores of the r-th rank of one node.
int share_of_cores(const std::vector<std::vector<int>>& cores_of_ranks, int rank);

}  // namespace shardmark::comm
