// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/exchange/named_exchange.hpp"
#include "comm/placement/movement.hpp"
#include "comm/placement/table_groups.hpp"

namespace shardmark {

/// How the data of a plan move: what compare tries several of.
struct Case {
  Movement movement = {};
  NamedExchange exchange = exchange_named("mpi_alltoallv");
  TableGroups groups = {};

  /// "dense_partials mpi_alltoallv"; what is not the default follows: ", wire_forward fp16, groups 4".
  std::string name() const;
};

}  // namespace shardmark
