// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/node_memory.hpp"

#include <fstream>
#include <set>
#include <string>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "workloads/measure/control_groups.hpp"

namespace shardmark::workloads {
namespace {

/// Differs between kernels that run, not between the containers of one; empty where it cannot be read.
std::string name_of_kernel() {
  std::string name;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), name);
  return name;
}

}  // namespace

std::int64_t memory_of_node(const comm::Communicator& comm) {
  const auto kernels = comm::all_gather(comm, name_of_kernel());
  std::set<int> nodes{comm.node_of(comm.rank())};
  for (int r = 0; r < comm.size(); ++r)
    if (!kernels[r].empty() && kernels[r] == kernels[comm.rank()]) nodes.insert(comm.node_of(r));
  return comm::agree(comm, [&] { return memory_available(static_cast<int>(nodes.size())); });
}

}  // namespace shardmark::workloads
