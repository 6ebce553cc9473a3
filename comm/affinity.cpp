// SPDX-License-Identifier: Apache-2.0
#include "comm/affinity.hpp"

#include <hwloc.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <stdexcept>

#include "comm/collectives.hpp"

namespace shardmark::comm {
namespace {

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>;

Topology load_topology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) throw std::runtime_error("hwloc_topology_init failed");
  Topology owner(topology, hwloc_topology_destroy);
  if (hwloc_topology_load(topology) != 0) throw std::runtime_error("hwloc_topology_load failed");
  return owner;
}

std::string list_of(hwloc_const_bitmap_t set) {
  std::string text(hwloc_bitmap_list_snprintf(nullptr, 0, set) + 1, '\0');
  hwloc_bitmap_list_snprintf(text.data(), text.size(), set);
  text.pop_back();
  return text;
}

/// Some virtual machines show no cores; there each processing unit counts as one.
hwloc_obj_type_t core_type(hwloc_topology_t topology) {
  return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

/// Returns the last-level caches; empty where hwloc sees none.
std::vector<hwloc_obj_t> last_level_caches(hwloc_topology_t topology) {
  std::vector<hwloc_obj_t> caches;
  for (const auto type : {HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE}) {
    for (auto cache = hwloc_get_next_obj_by_type(topology, type, nullptr); cache != nullptr;
         cache = hwloc_get_next_obj_by_type(topology, type, cache))
      caches.push_back(cache);
    if (!caches.empty()) break;
  }
  return caches;
}

/// Gathers a list of numbers of each rank of this rank's node, by their number there.
std::vector<std::vector<int>> lists_of_node(const Communicator& comm, const std::vector<int>& own) {
  const auto gathered = all_gather(comm, std::span<const int>(own));
  std::vector<std::vector<int>> lists;
  for (const int rank : comm.ranks_of(comm.node_of(comm.rank()))) {
    const auto list = gathered.of(rank);
    lists.emplace_back(list.begin(), list.end());
  }
  return lists;
}

}  // namespace

Affinity observed_affinity() {
  const Topology topology = load_topology();
  const Bitmap set(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  const auto allowed = hwloc_topology_get_allowed_cpuset(topology.get());
  if (hwloc_get_cpubind(topology.get(), set.get(), HWLOC_CPUBIND_PROCESS) != 0) hwloc_bitmap_copy(set.get(), allowed);
  hwloc_bitmap_and(set.get(), set.get(), allowed);

  Affinity affinity{list_of(set.get()), {}};
  const auto type = core_type(topology.get());
  for (auto core = hwloc_get_next_obj_by_type(topology.get(), type, nullptr); core != nullptr;
       core = hwloc_get_next_obj_by_type(topology.get(), type, core)) {
    if (hwloc_bitmap_intersects(core->cpuset, set.get()))
      affinity.cores.push_back(static_cast<int>(core->logical_index));
  }
  for (const hwloc_obj_t cache : last_level_caches(topology.get()))
    if (hwloc_bitmap_intersects(cache->cpuset, set.get()))
      affinity.caches.push_back(static_cast<int>(cache->logical_index));
  return affinity;
}

struct CoreSet::Hardware {
  Topology topology = load_topology();
  Bitmap set{hwloc_bitmap_alloc(), hwloc_bitmap_free};
};

CoreSet::CoreSet(const Affinity& within, std::span<const int> cores) {
  const auto hardware = std::make_shared<Hardware>();
  const Bitmap usable(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  hwloc_bitmap_list_sscanf(usable.get(), within.processing_units.c_str());
  const auto topology = hardware->topology.get();
  for (const int core : cores) {
    const auto object = hwloc_get_obj_by_type(topology, core_type(topology), static_cast<unsigned>(core));
    if (object != nullptr) hwloc_bitmap_or(hardware->set.get(), hardware->set.get(), object->cpuset);
  }
  hwloc_bitmap_and(hardware->set.get(), hardware->set.get(), usable.get());
  hardware_ = hardware;
}

void CoreSet::bind_thread() const {
  if (hwloc_set_cpubind(hardware_->topology.get(), hardware_->set.get(), HWLOC_CPUBIND_THREAD) != 0)
    throw std::runtime_error("a thread cannot be bound to processing units " + processing_units());
}

std::string CoreSet::processing_units() const { return list_of(hardware_->set.get()); }

std::int64_t last_level_cache_bytes() {
  const Topology topology = load_topology();
  std::uint64_t bytes = 0;
  for (const hwloc_obj_t cache : last_level_caches(topology.get())) bytes += cache->attr->cache.size;
  return static_cast<std::int64_t>(bytes);
}

bool most_share_cache(const std::vector<std::vector<int>>& caches_of_ranks, int rank) {
  const std::vector<int>& own = caches_of_ranks.at(rank);
  const auto sharing = std::ranges::count_if(caches_of_ranks, [&](const std::vector<int>& caches) {
    return std::ranges::find_first_of(caches, own) != caches.end();
  });
  const auto others = std::ssize(caches_of_ranks) - 1;
  return own.empty() || 2 * (sharing - 1) >= others;
}

bool neighbours_share_cache(const Communicator& comm, const Affinity& affinity) {
  return most_share_cache(lists_of_node(comm, affinity.caches), comm.node_rank());
}

int share_of_cores(const std::vector<std::vector<int>>& cores_of_ranks, int rank) {
  double share = 0.0;
  for (const int core : cores_of_ranks.at(rank)) {
    const auto users = std::count_if(cores_of_ranks.begin(), cores_of_ranks.end(), [core](const auto& cores) {
      return std::find(cores.begin(), cores.end(), core) != cores.end();
    });
    share += 1.0 / static_cast<double>(users);
  }
  constexpr double rounding = 1e-6;  // 3 * (1/3) counts as 1
  return std::max(1, static_cast<int>(share + rounding));
}

int threads_for_rank(const Communicator& comm, const Affinity& affinity) {
  return share_of_cores(lists_of_node(comm, affinity.cores), comm.node_rank());
}

}  // namespace shardmark::comm
