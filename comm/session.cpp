// SPDX-License-Identifier: Apache-2.0
#include "comm/session.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "comm/agree.hpp"
#include "comm/mpi_error.hpp"
#include "comm/waiting.hpp"
#include "reference/error.hpp"

namespace shardmark::comm {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto time_for_notes = std::chrono::milliseconds(250);
constexpr auto time_for_abort = std::chrono::seconds(10);

void print_error(const std::string& text) {
  const std::string line = fmt::format("shardmark: {}\n", text);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

/// Holds MPI from initialisation to finalisation.
class Library {
 public:
  explicit Library(MpiThreads threads) {
    const int wanted = threads == MpiThreads::several ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
    check_mpi(MPI_Init_thread(nullptr, nullptr, wanted, &provided_), "MPI_Init_thread");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // errors of datatypes and the like come here
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &failures_), "MPI_Comm_dup");
    if (provided_ < MPI_THREAD_SERIALIZED)
      throw MpiError("MPI_Init_thread", "this MPI cannot be called from one thread after another");
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (!hold_waiting_threads()) {
      print_error("threads wait in MPI at the end of the program");
      MPI_Abort(MPI_COMM_WORLD, exit_failed);
    }
    MPI_Comm_free(&failures_);
    MPI_Finalize();
  }

  /// Returns a communicator on which ranks report to each other that they failed, and nothing else.
  MPI_Comm failures() const { return failures_; }

 private:
  int provided_ = MPI_THREAD_SINGLE;
  MPI_Comm failures_ = MPI_COMM_NULL;
};

/// Returns the lowest rank whose note of failure has come by now; `none` without one.
int lowest_note(MPI_Comm comm, int none) {
  int lowest = none;
  for (int waiting = 1; waiting != 0;) {
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, 0, comm, &waiting, &status) != MPI_SUCCESS || waiting == 0) break;
    lowest = std::min(lowest, status.MPI_SOURCE);
    MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, 0, comm, MPI_STATUS_IGNORE);
  }
  return lowest;
}

/// Returns true on one of the ranks that fail at about the same time: the first, or the lowest of those whose notes
/// cross. Never waits for a rank that has not failed.
bool speaks_for_all(MPI_Comm comm) {
  int rank = 0, size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (lowest_note(comm, size) < size) return false;
  std::vector<MPI_Request> notes(size, MPI_REQUEST_NULL);
  for (int peer = 0; peer < size; ++peer) {
    if (peer != rank) MPI_Isend(nullptr, 0, MPI_BYTE, peer, 0, comm, &notes[peer]);
  }
  for (const auto end = Clock::now() + time_for_notes; Clock::now() < end;) {
    if (lowest_note(comm, size) < rank) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

std::string place() {
  int rank = 0, length = 0;
  char host[MPI_MAX_PROCESSOR_NAME] = {};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Get_processor_name(host, &length);
  return fmt::format("rank {} ({})", rank, host);
}

bool all_ranks_know(const std::exception_ptr& failure) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    std::rethrow_exception(failure);
  } catch (const Agreed& agreed) {
    return agreed.ranks() == ranks && agreed.in_this_thread();
  } catch (...) {
    return false;
  }
}

/// Returns true where the failure is that of another rank, which reports it before long.
bool follows_another(const std::exception_ptr& failure, MPI_Comm comm) {
  try {
    std::rethrow_exception(failure);
  } catch (const PeerFailed&) {
    int size = 1;
    MPI_Comm_size(comm, &size);
    for (const auto end = Clock::now() + time_for_abort; Clock::now() < end;) {
      if (lowest_note(comm, size) < size) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (...) {
  }
  return false;
}

/// Returns the message with the place where it was thrown.
std::string message_with_place(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Agreed&) {
    return message_of(failure);  // which says it
  } catch (...) {
    return fmt::format("{}: {}", place(), message_of(failure));
  }
}

int exit_code_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const InputError&) {
    return exit_bad_input;
  } catch (...) {
    return exit_failed;
  }
}

/// Returns if every rank comes here with the same failure; ends the job otherwise.
int end_with(const std::exception_ptr& failure, MPI_Comm failures) {
  const int code = exit_code_of(failure);
  if (all_ranks_know(failure)) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) print_error(message_of(failure));
    if (!hold_waiting_threads()) {
      if (rank != 0) std::this_thread::sleep_for(time_for_notes);  // until that line is out
      MPI_Abort(MPI_COMM_WORLD, code);
    }
    return code;
  }
  if (!follows_another(failure, failures) && speaks_for_all(failures)) {
    print_error(message_with_place(failure));
  } else {
    std::this_thread::sleep_for(time_for_abort);  // the one that speaks ends this process meanwhile
  }
  MPI_Abort(MPI_COMM_WORLD, code);
  return code;
}

}  // namespace

MpiThreads mpi_threads_given() {
  int given = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&given), "MPI_Query_thread");
  return given == MPI_THREAD_MULTIPLE ? MpiThreads::several : MpiThreads::one_at_a_time;
}

int with_mpi(const std::function<int(const Communicator& world)>& program, MpiThreads threads) {
  const Library library(threads);
  std::exception_ptr failure;
  try {
    const Communicator world(MPI_COMM_WORLD);
    return program(world);
  } catch (...) {
    failure = std::current_exception();
  }
  return end_with(failure, library.failures());
}

}  // namespace shardmark::comm
