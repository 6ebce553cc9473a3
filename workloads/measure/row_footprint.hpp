// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "comm/communicator.hpp"
#include "reference/batch.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {

/// How many different 64-bit hashes were added on all ranks together, give or take 1.6 %, from 16 KiB a rank:
/// HyperLogLog (Flajolet, Fusy, Gandouet, Meunier, 2007), with linear counting where few were added.
class DistinctCount {
 public:
  void add(std::uint64_t hash);
  /// Collective.
  double estimate(const comm::Communicator& comm) const;

 private:
  static constexpr int index_bits = 12;
  std::vector<int> longest_ = std::vector<int>(std::size_t{1} << index_bits);
};

/// The memory that the rows that batches name take, each row once, with their optimizer state. Rows that are
/// computed are not in memory: the parts of such tables are counted whole.
class RowFootprint {
 public:
  explicit RowFootprint(const Workload& workload);

  /// Of this rank's samples.
  void add(const Batch& batch);
  /// Of all ranks. Collective.
  double bytes(const comm::Communicator& comm) const;

 private:
  const Workload& workload_;
  double part_bytes_ = 0.0;
  std::map<std::int64_t, DistinctCount> counts_;  ///< by the bytes of a row
};
}  // namespace shardmark::workloads
