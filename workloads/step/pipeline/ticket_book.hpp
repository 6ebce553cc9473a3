// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace shardmark {

/// Number of a batch, from 0 in the order of the input. Every rank takes every ticket in this order.
using Ticket = std::int64_t;

/// How far steps may be prepared ahead of the one that is taken.
struct PipelineShape {
  std::int64_t threads = 1;   ///< T: batches that are being prepared at once; 0: each in its turn, by the steps
  std::int64_t capacity = 1;  ///< C: prepared ones that wait, beside one in the hands of each thread
  std::int64_t bound = 2;     ///< S: a lookup may miss the updates of so many steps before its own at most
  bool looks_up = true;       ///< ahead of time; false: ids alone are sent ahead, and nothing is ever stale

  /// Nothing is ahead of the step that is taken: the thread of the steps prepares its batch when it needs it.
  bool inlined() const { return threads == 0; }
  /// Batches in memory: those ahead, and the one whose step is taken.
  std::int64_t places() const { return inlined() ? 1 : capacity + threads + 1; }
};

/// What is done for a batch ahead of its step, in this order.
enum class AheadStage : std::size_t {
  distribute,  ///< ids to the owners of their rows
  agree,       ///< with the other ranks on the version that the lookup sees
  look_up,     ///< reads rows of exactly that version
  deliver      ///< vectors home to their samples
};
inline constexpr std::size_t ahead_stages = 4;

/// Who prepares batches: which one, and what comes next. A thread, or an actor of a scripted clock.
struct AheadTask {
  AheadStage stage = AheadStage::distribute;
  Ticket ticket = -1;
  std::int64_t version = 0;  ///< agree: in, of this rank; out, the largest of all ranks
};

/// The rules of the pipeline, of one rank: who may do what now. No threads, no clock, no MPI; whoever drives it locks
/// it. The version of the tables is the number of steps that have updated them, so that the step of ticket t makes
/// version t + 1 of version t.
///
///   - A batch is taken when one of the places is free; it keeps its place until its step is over. Nothing that is
///     taken is ever dropped: there is no queue that could be full.
///   - Lookups are made in the order of tickets, that of t at a version v with t - S <= v <= t.
///   - All ranks look t up at one version: each proposes its own and holds it, the largest is agreed on, and those
///     behind take the steps in between. The others have taken them, so nobody waits for a rank that waits.
///   - No update runs during a lookup.
class TicketBook {
 public:
  /// Throws std::invalid_argument for a negative number of threads or bound, and for a capacity below 1 with threads.
  explicit TicketBook(const PipelineShape& shape);

  const PipelineShape& shape() const { return shape_; }

  /// There are tickets below `end`; never fewer than before.
  void extend(Ticket end);
  Ticket end() const { return end_; }

  // Ahead. begin() and end() enclose the work of the task's stage; end() moves the task on.
  bool may_begin(const AheadTask& task) const;
  void begin(AheadTask& task);
  void end(AheadTask& task);

  // The steps, in the order of tickets: consume, update, finish.
  bool may_consume() const { return steps_ < end_ && complete_[place(steps_)]; }
  /// How many batches are prepared and wait.
  std::int64_t depth() const;
  /// The version that the lookup of the ticket saw; its own where it is made in its step.
  std::int64_t seen(Ticket ticket) const { return shape_.looks_up ? seen_[place(ticket)] : ticket; }
  bool may_update() const { return !held_ || version_ < *held_; }
  void begin_update();
  void end_update();
  /// The place of the oldest ticket is free.
  void release();

  std::int64_t version() const { return version_; }
  /// Tickets whose steps are over.
  Ticket released() const { return released_; }
  Ticket taken() const { return taken_; }

 private:
  std::size_t place(Ticket ticket) const { return static_cast<std::size_t>(ticket % shape_.places()); }

  PipelineShape shape_;
  Ticket end_ = 0, taken_ = 0, to_look_up_ = 0, steps_ = 0, released_ = 0;
  std::int64_t version_ = 0;
  bool updating_ = false;
  std::optional<std::int64_t> held_;  ///< no update may begin at this version
  std::vector<std::int64_t> seen_;    ///< by place
  std::vector<bool> complete_;        ///< by place
};

}  // namespace shardmark
