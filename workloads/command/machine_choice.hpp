// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "comm/affinity.hpp"
#include "comm/communicator.hpp"
#include "comm/placement/cost/machine_model.hpp"
#include "workloads/measure/status.hpp"

namespace shardmark::workloads {

inline constexpr std::string_view machine_help =
    "by what cases are predicted before they run, and exchange auto picks: auto, a FILE of `shardmark calibrate "
    "--out`, known or off. auto takes results/local/machines/FINGERPRINT.json of these ranks, or calibrates them now, "
    "in "
    "less than a minute, and keeps that there; known takes the file where it is there";

/// A machine, and what the user should know of it.
struct ChosenMachine {
  std::optional<placement::MachineModel> model;  ///< absent: nothing is predicted
  std::string warning;                           ///< that it was calibrated elsewhere; empty: it was not

  const placement::MachineModel* get() const { return model ? &*model : nullptr; }
};

/// Whether choose_machine would calibrate these ranks, which takes one to two minutes. Collective.
bool calibrates(const comm::Communicator& world, const std::string& wanted);

/// What --machine says; rank 0 says on stderr when it calibrates, and the warning. Collective; the same on every rank.
/// Throws InputError naming the file that is none.
ChosenMachine choose_machine(const comm::Communicator& world, const comm::Affinity& affinity, const std::string& wanted,
                             const Status& status);

}  // namespace shardmark::workloads
