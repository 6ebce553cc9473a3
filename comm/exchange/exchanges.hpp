// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "comm/exchange/device_aware.hpp"
#include "comm/exchange/exchange_choice.hpp"
#include "comm/exchange/host_staged.hpp"
#include "comm/exchange/linear.hpp"
#include "comm/exchange/mpi_alltoallv.hpp"
#include "comm/exchange/nccl.hpp"
#include "comm/exchange/pairwise.hpp"

namespace shardmark {

/// Users name them as named_exchange.hpp says.
inline constexpr std::array exchanges = {
    exchange_choice<MpiAlltoallv>("mpi_alltoallv", "MPI_Alltoallv: the library's own algorithm"),
    exchange_choice<Linear>("linear", "all messages at once, to and from the nearest ranks first"),
    exchange_choice<Pairwise>("pairwise", "P-1 rounds, in round k to rank+k and from rank-k"),
    exchange_choice<Nccl>("nccl", "NCCL: grouped sends and receives, a GPU for each rank"),
    exchange_choice<HostStaged>("host_staged", "MPI_Alltoallv on pinned copies of GPU memory"),
    exchange_choice<DeviceAware>("device_aware", "MPI_Alltoallv on GPU memory, by an MPI that reads it"),
};

}  // namespace shardmark
