// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "comm/exchange/auto.hpp"
#include "comm/exchange/bruck.hpp"
#include "comm/exchange/chunked.hpp"
#include "comm/exchange/device_aware.hpp"
#include "comm/exchange/exchange_choice.hpp"
#include "comm/exchange/host_staged.hpp"
#include "comm/exchange/linear.hpp"
#include "comm/exchange/linear_throttled.hpp"
#include "comm/exchange/mpi_alltoallv.hpp"
#include "comm/exchange/mpi_neighbor.hpp"
#include "comm/exchange/nccl.hpp"
#include "comm/exchange/node_aware.hpp"
#include "comm/exchange/node_leader.hpp"
#include "comm/exchange/node_shared.hpp"
#include "comm/exchange/pairwise.hpp"
#include "comm/exchange/persistent.hpp"
#include "comm/exchange/rma_put.hpp"

namespace shardmark::comm {

/// Users name them as named_exchange.hpp says.
inline constexpr std::array exchanges = {
    exchange_choice<MpiAlltoallv>("mpi_alltoallv", "MPI_Alltoallv: the library's own algorithm", InAuto::any_route),
    exchange_choice<Auto>("auto", "the fastest in this job for the size and shape of each route", InAuto::never),
    exchange_choice<MpiNeighbor>("mpi_neighbor", "MPI_Neighbor_alltoallv among ranks that share traffic",
                                 InAuto::known_routes),
    exchange_choice<Linear>("linear", "all messages at once, to and from the nearest ranks first", InAuto::any_route),
    exchange_choice<LinearThrottled>("linear_throttled", "the same, N partners at a time", InAuto::any_route,
                                     {.by_default = 4}),
    exchange_choice<Persistent>("persistent", "the messages of linear, set up once (MPI_Send_init) and started again",
                                InAuto::known_routes),
    exchange_choice<Chunked>("chunked",
                             "the messages of linear in N parts: one is packed and one unpacked as one moves",
                             InAuto::any_route, {.by_default = 4}),
    exchange_choice<Pairwise>("pairwise", "P-1 rounds, in round k to rank+k and from rank-k", InAuto::any_route),
    exchange_choice<Bruck>("bruck", "radix N: log P rounds, blocks travel together by the digits of their distance",
                           InAuto::known_routes, {.by_default = 2, .least = 2}),
    exchange_choice<NodeAware>("node_aware", "rails: only ranks of the same number on their nodes talk between nodes",
                               InAuto::known_routes),
    exchange_choice<NodeLeader>("node_leader", "N leaders per node gather, exchange between nodes, scatter",
                                InAuto::known_routes, {.by_default = 1}),
    exchange_choice<NodeShared>("node_shared", "loads and stores inside a node, messages of linear between nodes",
                                InAuto::any_route),
    exchange_choice<RmaPut>("rma_put", "MPI_Put into windows, between two fences", InAuto::known_routes),
    exchange_choice<Nccl>("nccl", "NCCL: grouped sends and receives, a GPU for each rank", InAuto::never, {}, "nccl"),
    exchange_choice<HostStaged>("host_staged", "MPI_Alltoallv on pinned copies of GPU memory", InAuto::never),
    exchange_choice<DeviceAware>("device_aware", "MPI_Alltoallv on GPU memory, by an MPI that reads it", InAuto::never),
};

}  // namespace shardmark::comm
