// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "workloads/step/pipeline/pipeline_counts.hpp"

namespace shardmark::workloads {

/// Does the work of the threads of a pipeline: each stage of a ticket once, in the order of AheadStage. Stages of
/// different tickets may run at the same time, but their lookups run one after the other.
class AheadWork {
 public:
  virtual ~AheadWork() = default;
  virtual void read(Ticket ticket) = 0;
  virtual void distribute(Ticket ticket) = 0;
  /// Returns the largest version that any rank proposes for the ticket.
  virtual std::int64_t agree(Ticket ticket, std::int64_t own) = 0;
  virtual void look_up(Ticket ticket) = 0;
  virtual void deliver(Ticket ticket) = 0;
  /// Returns the ticket that the next step takes on all ranks, one of which would take `own`. Called only where
  /// steps are not taken in the order of the input.
  virtual Ticket choose(Ticket own) = 0;
};

/// Runs the threads that prepare batches, by the rules of a TicketBook, and serves the thread of the steps. What a
/// stage throws is thrown by the next call that waits; nothing is taken any more then. With a shape without threads
/// consume() itself runs the stages of the batch that it returns.
class StageThreads {
 public:
  /// Starts the threads, which each begin with `first` and then call `work`; this outlives the object.
  StageThreads(
      const PipelineShape& shape, AheadWork& work, const std::function<void()>& first = [] {});
  /// Calls stop().
  ~StageThreads();
  StageThreads(const StageThreads&) = delete;
  StageThreads& operator=(const StageThreads&) = delete;

  /// Allows tickets below `end`.
  void extend(Ticket end);

  /// Waits until the ticket of the next step is prepared and returns it, or prepares it. Throws std::logic_error when
  /// there is no such ticket.
  Ticket consume();
  /// Waits until no lookup holds the version that the update ends.
  void begin_update();
  void end_update();
  /// Frees the place of the ticket that was consumed last.
  void release();

  std::int64_t seen(Ticket ticket) const;
  PipelineCounts counts() const;

  /// Ends the threads; each finishes the stage that it is in. Returns false when one does not within a quarter of a
  /// second, because it waits for another rank that will not come: it is then left to itself, and what `work` refers to
  /// must stay.
  bool stop();

 private:
  struct Shared;
  using Lock = std::unique_lock<std::mutex>;
  static void serve(const std::shared_ptr<Shared>& shared, const std::function<void()>& first);
  static void make_stage(Shared& shared, Lock& lock, AheadTask& task, double waiting_since);
  template <class Ready>
  double wait(Lock& lock, const Ready& ready);
  void prepare(Lock& lock);

  std::shared_ptr<Shared> shared_;  ///< with the threads, which may outlive the object
  std::vector<std::thread> threads_;
};

}  // namespace shardmark::workloads
