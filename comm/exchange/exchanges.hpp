// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "comm/exchange/exchange.hpp"
#include "comm/exchange/mpi_alltoallv.hpp"
#include "comm/exchange/pairwise.hpp"

namespace shardmark {

struct ExchangeChoice {
  std::string_view name;
  std::string_view description;
  std::unique_ptr<Exchange> (*make)(const Communicator&);  ///< collective
};

inline constexpr std::array exchanges = {
    ExchangeChoice{"mpi_alltoallv", "MPI_Alltoallv: the library's own algorithm", make_exchange<MpiAlltoallv>},
    ExchangeChoice{"pairwise", "P-1 rounds, in round k to rank+k and from rank-k", make_exchange<Pairwise>},
};

}  // namespace shardmark
