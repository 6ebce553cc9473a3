// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"
#include "comm/placement/cost/exchange_ratios.hpp"

namespace shardmark::comm {

/// Measures all exchanges that `auto` may pick, for about `seconds` or somewhat less, and says so on rank 0's stderr.
/// Collective; the result is the same on every rank.
placement::ExchangeRatios calibrate_exchanges(const Communicator& comm, double seconds);

/// Returns the ratios that belong to this communicator: those that were set for it, or else some that are measured now,
/// in half a second, and kept. They live as long as the communicator's MPI handle. Collective.
const placement::ExchangeRatios& calibration_of(const Communicator& comm);
/// Sets the ratios of this communicator. Throws InputError when they were measured with another number of ranks or
/// nodes, or name unknown exchanges.
void set_calibration(const Communicator& comm, placement::ExchangeRatios calibration);

}  // namespace shardmark::comm
