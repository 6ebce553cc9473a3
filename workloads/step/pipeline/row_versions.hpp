// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/step/group_flight.hpp"

namespace shardmark::workloads {

/// In which step each row of a rank was last updated: of the shards that hold parts of tables, then of the replicated
/// ones, under their keys. 4 bytes per row.
class RowVersions {
 public:
  explicit RowVersions(const GroupFlight& flight);

  /// No row has been updated since version 0.
  void clear();

  /// The step whose gradients the flight holds has made this version of the tables.
  void mark(const GroupFlight& flight, std::int64_t version);

  /// stale[b] = 1 where the bag b of the flight reads a row that was updated after version `seen`. stale: [bags].
  void find_stale(GroupFlight& flight, std::int64_t seen, const DeviceArray<std::uint8_t>& stale) const;

 private:
  std::int64_t exchanged_keys_;
  DeviceArray<std::int32_t> updated_;
};

}  // namespace shardmark::workloads
