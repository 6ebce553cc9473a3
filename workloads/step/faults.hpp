// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/step/flight.hpp"
#include "workloads/step/phase_clock.hpp"

namespace shardmark::workloads {

/// Commits Fault::stop, die, slow or fail: the last rank sleeps for ever, kills itself, sleeps for a moment, or throws.
void interrupt(const comm::Communicator& comm, Fault fault);

/// Commits the fault of a case, if it is one of those that happen when phase `ended` has ended.
void commit_fault(Fault fault, Phase ended, GroupFlight& flight);

/// Commits Fault::update or Fault::one_replica, when the gradients of the rows are summed and no row is updated yet.
void forget_last_row(Fault fault, GroupFlight& flight);

}  // namespace shardmark::workloads
