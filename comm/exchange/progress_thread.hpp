// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "comm/exchange/task_stack.hpp"
#include "comm/waiting.hpp"

namespace shardmark::comm {

/// Makes the MPI calls of a program, so that communication can overlap with computation.
///
/// An inline one has no thread of its own and makes a call where run() is called. Any other has a thread for the calls,
/// and interleave() gives it something to overlap with: several tasks take turns on the caller's thread, and while the
/// progress thread makes the call of one task, the next one computes. Only the progress thread uses MPI meanwhile
/// (MPI_THREAD_SERIALIZED); all it computes are the sums that reductions make of what arrives.
///
/// Tasks take turns in a fixed order: each runs until it calls run(), and goes on when its call is done and all others
/// have had their turn. So every rank makes the same calls in the same order, however long anything takes. A task has a
/// TaskStack, and its code need not know that it is interrupted.
class ProgressThread {
 public:
  /// Makes an inline one.
  ProgressThread() = default;
  /// Starts a thread that waits so in MPI: alike on all ranks (common_waiting).
  explicit ProgressThread(Waiting waiting);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// Makes call() on the thread and returns when it is done. Rethrows what it throws.
  template <class Call>
  void run(Call&& call) {
    Job job{[](void* what) { (*static_cast<std::remove_reference_t<Call>*>(what))(); }, &call};
    run_job(job);
  }

  /// Runs body(0), ..., body(count - 1), interleaved when there is a thread. Rethrows the first exception of a task;
  /// the others are then abandoned, with what they hold, and no more calls are taken.
  template <class Body>
  void interleave(std::int64_t count, Body&& body) {
    interleave_tasks(
        count, [](void* what, std::int64_t task) { (*static_cast<std::remove_reference_t<Body>*>(what))(task); },
        &body);
  }

  /// Returns whether tasks take turns.
  bool interleaves() const { return shared_ != nullptr; }

  /// Returns the seconds that the running task sees: those in which it gave way to others are left out.
  double now() const;

  /// Returns the seconds since it was made that went into calls; exposed_seconds() returns those of them in which no
  /// task had anything to compute.
  double busy_seconds() const;
  double exposed_seconds() const { return exposed_; }

 private:
  struct Job {
    void (*invoke)(void*);
    void* what;
    std::exception_ptr error = nullptr;
    bool done = false;
  };
  struct Task {
    TaskStack stack;
    ProgressThread* progress = nullptr;
    std::int64_t number = 0;
    Job* waits_for = nullptr;
    double away_since = 0.0, away = 0.0;
    bool finished = false;
    std::exception_ptr error = nullptr;
  };
  /// Holds what the thread uses; it may outlive an object that is abandoned.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Job*> waiting;
    bool working = false, closed = false;
    double busy = 0.0;
  };

  void run_job(Job& job);
  void interleave_tasks(std::int64_t count, void (*body)(void*, std::int64_t), void* what);
  void start(Task& task);
  void resume(Task& task);
  void wait_for(const Job& job);
  void give_up();
  static void run_task(void* task);
  static void serve(Shared& shared);

  std::shared_ptr<Shared> shared_;  ///< null: plain
  std::thread thread_;
  std::vector<std::unique_ptr<Task>> tasks_;
  Task* current_ = nullptr;
  void (*body_)(void*, std::int64_t) = nullptr;
  void* what_ = nullptr;
  double plain_busy_ = 0.0, exposed_ = 0.0;
};

}  // namespace shardmark::comm
