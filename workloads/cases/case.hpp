// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "comm/exchange/named_exchange.hpp"
#include "comm/placement/traffic/movement.hpp"
#include "comm/placement/traffic/table_groups.hpp"
#include "reference/dense/dense_math.hpp"
#include "reference/table.hpp"
#include "workloads/cases/async.hpp"

namespace shardmark::workloads {

/// Is one of the combinations that compare tries: how the data of a plan move, how its tables are stored, and how its
/// dense model multiplies.
struct Case {
  placement::Movement movement = {.transfer = placement::RowTransfer::automatic};
  comm::NamedExchange exchange = comm::default_exchange();
  placement::TableGroups groups = {};
  Async async = {};
  std::optional<Storage> storage = {};  ///< of every table; absent: as the workload says
  DenseMath dense_math = DenseMath::fp32;

  /// Returns the movement's transfer; where that is auto and rows are patched, dense_partials, since only partial sums
  /// are vectors that can be sent again one by one.
  placement::RowTransfer transfer() const {
    const bool left_open = movement.transfer == placement::RowTransfer::automatic;
    return left_open && async.mode == AsyncMode::patched ? placement::RowTransfer::dense_partials : movement.transfer;
  }
  /// Returns the movement with that transfer.
  placement::Movement movement_in_effect() const {
    placement::Movement effective = movement;
    effective.transfer = transfer();
    return effective;
  }

  /// Returns the name, "auto mpi_alltoallv"; what is not the default follows: ", wire_forward fp16, groups 4".
  std::string name() const;
};

}  // namespace shardmark::workloads
