// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/traffic/movement.hpp"
#include "kernels/later_rows.hpp"
#include "workloads/batches/step_input.hpp"
#include "workloads/tables/shard_layout.hpp"

namespace shardmark::workloads {

/// The bags of a rank's samples without the ids of hot rows, which it does not ask for; the other rows of their tables
/// are counted from the first one. Where no rows are hot, the bags as they are.
class AskedBags {
 public:
  /// modes: by strip.
  AskedBags(const ShardLayout& layout, const std::vector<placement::RowTransfer>& modes, std::int64_t features);

  /// The following hold until the next call.
  void set(const StepInput& input);
  const kernels::Bags<Execution, std::int64_t>& bags() const { return bags_; }
  /// [features]: ids of each.
  const std::vector<std::int64_t>& ids() const { return ids_; }

 private:
  ConstDeviceArray<std::int64_t> first_row_;                 ///< [features]; empty where no rows are hot
  Kokkos::View<std::int64_t*, Kokkos::HostSpace> first_id_;  ///< [features + 1]
  kernels::LaterRowsWorkspace<Execution> workspace_;
  kernels::Bags<Execution, std::int64_t> bags_;
  std::vector<std::int64_t> ids_;
};

}  // namespace shardmark::workloads
