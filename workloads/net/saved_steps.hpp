// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "workloads/net/net_setup.hpp"

namespace shardmark::workloads {

/// Saves a case that has taken all its steps; then takes them again, with a save in their midst, or one of all rows and
/// one of changes, from which it is restored; and compares both ends bit by bit. Tables that cannot be saved behind the
/// steps (StorageChoice::keeps_rows) are saved between them. Returns what differs, or nothing.
/// Cases whose rows are stale in another way after a save are left out, and so are those that no checkpoint has.
/// Collective.
std::string differs_when_restored(const comm::Communicator& comm, const CaseSetup& setup, Prepared& prepared,
                                  SaveKind kind, SaveMode mode);

}  // namespace shardmark::workloads
