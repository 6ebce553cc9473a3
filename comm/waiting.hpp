// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <span>

namespace shardmark::comm {

/// Says how a thread waits for what it started in MPI. poll: as MPI does, without leaving its core. sleep: it tests and
/// sleeps in turns, and so returns some 0.1 ms late, but others can compute on a core that it shares with them.
/// messages: as sleep, but collectives are carried by messages between pairs of ranks, for several threads that wait at
/// once: the non-blocking collectives of Open MPI 4.1.4 then hang now and then. A collective for which no such messages
/// are written polls.
enum class Waiting { poll, sleep, messages };

inline constinit thread_local Waiting waiting_of_thread = Waiting::poll;

/// Sets how the calling thread waits; it is poll until set.
inline void set_waiting(Waiting waiting) { waiting_of_thread = waiting; }
inline Waiting waiting() { return waiting_of_thread; }

/// Stops waiting threads; it must be called before MPI ends. Threads that sleep while they wait, for what other ranks
/// will never send, stay where they are from now on and call MPI no more. A job that ends by an error may leave threads
/// of pipelines and progress threads in that state. Returns false where there are such threads, or some that poll in
/// MPI; MPI_Finalize may then wait for ever, for windows that are still in use.
[[nodiscard]] bool hold_waiting_threads();

/// Leaves the core to others, or sleeps, between two tests of a thread that waits for what other processes store.
void wait_a_moment();

/// Completes all requests like MPI_Waitall, with its code and statuses, and waits as waiting() of the calling thread
/// says.
int wait_all(std::span<MPI_Request> requests, MPI_Status* statuses);

}  // namespace shardmark::comm
