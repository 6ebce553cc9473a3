// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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

/// These are all exchanges, in the order of exchange_shapes.hpp; users name them as named_exchange.hpp says.
inline constexpr std::array exchanges = {
    exchange_choice<MpiAlltoallv>("mpi_alltoallv"),
    exchange_choice<Auto>("auto"),
    exchange_choice<MpiNeighbor>("mpi_neighbor"),
    exchange_choice<Linear>("linear"),
    exchange_choice<LinearThrottled>("linear_throttled"),
    exchange_choice<Persistent>("persistent"),
    exchange_choice<Chunked>("chunked"),
    exchange_choice<Pairwise>("pairwise"),
    exchange_choice<Bruck>("bruck"),
    exchange_choice<NodeAware>("node_aware"),
    exchange_choice<NodeLeader>("node_leader"),
    exchange_choice<NodeShared>("node_shared"),
    exchange_choice<RmaPut>("rma_put"),
    exchange_choice<Nccl>("nccl", "nccl"),
    exchange_choice<HostStaged>("host_staged"),
    exchange_choice<DeviceAware>("device_aware"),
};
static_assert(std::ranges::equal(exchanges, placement::exchange_shapes, {}, &ExchangeChoice::name,
                                 &placement::ExchangeShape::name));

}  // namespace shardmark::comm
