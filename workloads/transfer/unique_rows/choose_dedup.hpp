// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/exchange/lane.hpp"
#include "workloads/transfer/unique_rows/home_rows.hpp"

namespace shardmark {

/// Dedup::node when the busiest node then sends at least a fifth fewer bytes of ids, rows and gradients to the other
/// nodes than with Dedup::local, else Dedup::local. rows: requested with Dedup::node, which tells what ranks and nodes
/// ask for. Collective, the same on all ranks.
Dedup cheaper_between_nodes(const Communicator& comm, Lane& lane, const HomeRows& rows, const Wire& wire);

}  // namespace shardmark
