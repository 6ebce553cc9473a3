// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "comm/exchange/named_exchange.hpp"
#include "comm/placement/traffic/movement.hpp"
#include "comm/placement/traffic/table_groups.hpp"
#include "reference/table.hpp"
#include "workloads/cases/async.hpp"

namespace shardmark {

/// What compare tries several of: how the data of a plan move, and what stands for its tables.
struct Case {
  Movement movement = {.transfer = RowTransfer::automatic};
  NamedExchange exchange = exchange_named("mpi_alltoallv");
  TableGroups groups = {};
  Async async = {};
  std::optional<Storage> storage = {};  ///< of every table; absent: as the workload says

  /// "auto mpi_alltoallv"; what is not the default follows: ", wire_forward fp16, groups 4".
  std::string name() const;
};

}  // namespace shardmark
