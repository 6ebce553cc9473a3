// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "reference/error.hpp"
#include "reference/number.hpp"

namespace shardmark::workloads {

/// Under a launcher only the process of rank 0 speaks of what all of them see before MPI starts.
inline bool speaks() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
  return true;
}

/// The ranks that a launcher speaks of; 1 without one.
inline int launched_ranks() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* ranks = std::getenv(name)) return std::max(1, number_in<int>(ranks).value_or(1));
  return 1;
}

/// What to tell who runs a single rank although a launcher or scheduler speaks of more: each of its processes then
/// measures alone, as those of one MPI under the launcher of another do. Empty where nothing speaks of more.
inline std::string why_alone(int ranks) {
  if (ranks > 1) return "";
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"})
    if (const char* more = std::getenv(name); more != nullptr && number_in<int>(more).value_or(1) > 1)
      return std::string("WARNING: this is a single rank, though ") + name + " says " + more +
             ": start it by the mpiexec of the MPI that it was built with (or srun --mpi=pmix)";
  return "";
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

}  // namespace shardmark::workloads
