// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/exchange/exchange_calibration.hpp"

namespace shardmark::comm {

/// By which `auto` picks different exchanges for different routes: even ones by size bruck, linear, chunked, skewed
/// ones persistent.
inline placement::ExchangeRatios some_calibration(const Communicator& comm) {
  return {.ranks = comm.size(),
          .nodes = comm.nodes(),
          .exchanges = {"mpi_alltoallv", "linear", "bruck:2", "persistent", "chunked:4"},
          .cells = {{16, false, {1.0, 0.9, 0.5, 0.9, 0.9}},
                    {64, false, {1.0, 0.9, 0.5, 0.9, 0.9}},
                    {128, false, {1.0, 0.5, 0.9, 0.9, 0.9}},
                    {1024, false, {1.0, 0.9, 0.9, 0.9, 0.5}},
                    {16, true, {1.0, 0.9, 1.0, 0.5, 1.0}},
                    {1024, true, {1.0, 0.9, 1.0, 0.5, 1.0}}}};
}

}  // namespace shardmark::comm
