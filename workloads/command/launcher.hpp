// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "reference/error.hpp"
#include "reference/number.hpp"

namespace shardmark {

/// Under a launcher only the process of rank 0 speaks of what all of them see before MPI starts.
inline bool speaks() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
  return true;
}

/// For commands that write a file and know nothing of other ranks, each of which would write it. Throws InputError
/// under a launcher of several.
inline void require_alone(const std::string& command) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* ranks = std::getenv(name); ranks != nullptr && number_in<int>(ranks).value_or(1) > 1)
      throw InputError(command + ": each of the " + ranks +
                       " ranks would write the same file; start it without mpiexec " +
                       "(or, when each has a file of its own, with `env -u " + name + "`)");
}

}  // namespace shardmark
