// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "comm/exchange/device_aware.hpp"
#include "comm/exchange/chunked.hpp"
#include "comm/exchange/exchange_choice.hpp"
#include "comm/exchange/host_staged.hpp"
#include "comm/exchange/linear.hpp"
#include "comm/exchange/linear_throttled.hpp"
#include "comm/exchange/mpi_alltoallv.hpp"
#include "comm/exchange/nccl.hpp"
#include "comm/exchange/mpi_neighbor.hpp"
#include "comm/exchange/pairwise.hpp"
#include "comm/exchange/persistent.hpp"

namespace shardmark {

/// Users name them as named_exchange.hpp says.
inline constexpr std::array exchanges = {
    exchange_choice<MpiAlltoallv>("mpi_alltoallv", "MPI_Alltoallv: the library's own algorithm"),
    exchange_choice<MpiNeighbor>("mpi_neighbor", "MPI_Neighbor_alltoallv among ranks that share traffic"),
    exchange_choice<Linear>("linear", "all messages at once, to and from the nearest ranks first"),
    exchange_choice<LinearThrottled>("linear_throttled", "the same, N partners at a time", {.by_default = 4}),
    exchange_choice<Persistent>("persistent", "the messages of linear, set up once (MPI_Send_init) and started again"),
    exchange_choice<Chunked>(
        "chunked", "the messages of linear in N parts: one is packed and one unpacked as one moves", {.by_default = 4}),
    exchange_choice<Pairwise>("pairwise", "P-1 rounds, in round k to rank+k and from rank-k"),
    exchange_choice<Nccl>("nccl", "NCCL: grouped sends and receives, a GPU for each rank"),
    exchange_choice<HostStaged>("host_staged", "MPI_Alltoallv on pinned copies of GPU memory"),
    exchange_choice<DeviceAware>("device_aware", "MPI_Alltoallv on GPU memory, by an MPI that reads it"),
};

}  // namespace shardmark
