// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "comm/communicator.hpp"

namespace shardmark::comm {

/// These are the values that a program's main returns when it ends with an exception.
inline constexpr int exit_bad_input = 2;  ///< InputError
inline constexpr int exit_failed = 4;     ///< anything else: MPI, memory, a bug

/// Says which threads of a program use MPI: one at a time (exchange/progress_thread.hpp), or several at once, each with
/// communicators of its own.
enum class MpiThreads { one_at_a_time, several };

/// Returns the thread support that MPI provides, the same on every rank. It may be less than was requested.
MpiThreads mpi_threads_given();

/// Runs `program(world)` between MPI_Init_thread (serialized, or multiple where several threads are wanted and MPI has
/// it) and MPI_Finalize and returns its result; an MPI that is not even serialized is an error. An exception ends all
/// ranks, with one line "shardmark: rank N (host): message" on stderr. One that all ranks agreed on (comm/agree.hpp) in
/// this thread ends them by returning the exit code on each; any other, in which the others might wait for this rank,
/// by MPI_Abort with the exit code. Where several ranks throw at about the same time, the lowest of them prints its
/// message, but not with PeerFailed (comm/mpi_error.hpp) while another may.
int with_mpi(const std::function<int(const Communicator& world)>& program,
             MpiThreads threads = MpiThreads::one_at_a_time);

}  // namespace shardmark::comm
