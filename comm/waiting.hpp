// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <span>

namespace shardmark::comm {

/// How a thread waits for what it started in MPI. poll: as MPI does, without leaving its core. sleep: it looks and
/// sleeps in turns, some 0.1 ms late, so that others compute on a core that it shares with them. messages: the same by
/// messages between pairs alone, for several threads that wait at once: the non-blocking collectives of Open MPI 4.1.4
/// then hang now and then. What no such messages are written for polls.
enum class Waiting { poll, sleep, messages };

/// Of the calling thread; poll until set.
void set_waiting(Waiting waiting);
Waiting waiting();

/// Before MPI ends: threads that sleep while they wait, for what other ranks will never send, stay where they are from
/// now on and call MPI no more. A job that ends by an error may leave threads of pipelines and lanes so. False: there
/// are such threads, or some that poll in MPI; MPI_Finalize may then wait for ever, for windows that are still in use.
[[nodiscard]] bool hold_waiting_threads();

/// For who waits for what other processes store, between two looks: leaves the core to others, or sleeps.
void wait_a_moment();

/// MPI_Waitall, its code and statuses, in the thread's way of waiting.
int wait_all(std::span<MPI_Request> requests, MPI_Status* statuses);

}  // namespace shardmark::comm
