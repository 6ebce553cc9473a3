// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace shardmark::workloads {

/// Is what all ranks moved between files and memory, and the seconds of the slowest.
struct FileTraffic {
  std::int64_t bytes = 0;
  double seconds = 0.0;

  void add(const FileTraffic& more) {
    bytes += more.bytes;
    seconds += more.seconds;
  }
  double gb_per_s() const { return 1e-9 * static_cast<double>(bytes) / seconds; }
};

// These are the ceilings of saves and restores: the fastest that as many bytes move, in order, when nothing else is
// done. All are collective, and throw InputError alike on all ranks.

/// Writes a file of so many bytes of this rank into the folder, in calls of 1 MiB, and syncs it; the system begins to
/// write it back meanwhile, as it does of saves. The file loses its name before, so that nothing of it can stay.
FileTraffic write_in_order(const comm::Communicator& comm, const std::string& folder, std::int64_t bytes);

/// Reads files in calls of 1 MiB, of their bytes each rank an equal share.
FileTraffic read_in_order(const comm::Communicator& comm, const std::vector<std::string>& files);

/// Returns the share of the bytes of files that the system has in memory, on the node where that is least.
double cached_share(const comm::Communicator& comm, const std::vector<std::string>& files);
/// Takes files out of that memory, as far as the file system lets go of them.
void drop_cached(const comm::Communicator& comm, const std::vector<std::string>& files);

}  // namespace shardmark::workloads
