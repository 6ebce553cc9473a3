// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/placement/dedup.hpp"
#include "comm/placement/replicated_gradients.hpp"
#include "comm/placement/wire_ids.hpp"
#include "reference/wire_rounding.hpp"
#include "workloads/cases/table_groups.hpp"

namespace shardmark {

/// How a case moves its data; transfer and exchange by the names of the table `transfers` and of named_exchange.hpp.
struct Movement {
  std::string transfer = "dense_partials";
  std::string exchange = "mpi_alltoallv";
  WireTypes wire = {};
  WireIds wire_ids = WireIds::automatic;
  Dedup dedup = Dedup::automatic;
  TableGroups groups = {};
  ReplicatedGradients replicated_gradients = ReplicatedGradients::dense;

  /// "dense_partials mpi_alltoallv"; what is not the default follows: "fp16/bf16 groups 4 count".
  std::string name() const {
    std::string name = transfer + ' ' + exchange;
    if (wire != WireTypes{})
      name += ' ' + std::string(name_of(wire.forward)) + '/' + std::string(name_of(wire.backward));
    if (wire_ids != WireIds::automatic) name += " ids " + std::string(name_of(wire_ids));
    if (dedup != Dedup::automatic) name += " dedup " + std::string(name_of(dedup));
    if (groups != TableGroups{})
      name += " groups " + (groups.groups == TableGroups::table ? "table" : std::to_string(groups.groups)) + ' ' +
              std::string(name_of(groups.balance));
    if (replicated_gradients != ReplicatedGradients::dense)
      name += ", replicated gradients " + std::string(name_of(replicated_gradients));
    return name;
  }
};

}  // namespace shardmark
