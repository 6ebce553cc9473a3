// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace shardmark::workloads {

/// A ticket is the number of a batch, from 0 in the order of the input. Every rank takes every ticket in this order.
using Ticket = std::int64_t;

/// Bounds how many steps may be prepared before the one that is taken.
struct PipelineShape {
  std::int64_t threads = 1;   ///< T: batches that are being prepared at once; 0: each in its turn, by the steps
  std::int64_t capacity = 1;  ///< C: prepared ones that wait, beside one in work by each thread
  std::int64_t bound = 2;     ///< S: a lookup may miss the updates of so many steps before its own at most
  bool looks_up = true;       ///< before their step; false: ids alone are sent before, and nothing is ever stale
  bool in_order = true;       ///< steps take batches in the order of the input; false: as they are complete

  /// Returns whether nothing is prefetched: the thread of the steps prepares its batch when it needs it.
  bool inlined() const { return threads == 0; }
  /// Returns the number of batches in memory: those that are prepared, and the one whose step is taken.
  std::int64_t places() const { return inlined() ? 1 : capacity + threads + 1; }
};

/// These are the stages of a batch before its step, in this order.
enum class AheadStage : std::size_t {
  read,        ///< samples of the batch, from a file or of those in memory
  distribute,  ///< ids to the owners of their rows
  agree,       ///< with the other ranks on the version that the lookup sees
  look_up,     ///< reads rows of exactly that version
  deliver      ///< vectors home to their samples
};
inline constexpr std::size_t ahead_stages = 5;

/// Is one preparation of a batch by a thread, or by an actor of a scripted clock: the batch and its next stage.
struct AheadTask {
  AheadStage stage = AheadStage::read;
  Ticket ticket = -1;
  std::int64_t version = 0;  ///< agree: in, of this rank; out, the largest of all ranks
};

/// Keeps the rules of the pipeline, of one rank: who may do what now. It has no threads, no clock, no MPI; whoever
/// drives it locks it. The version of the tables is the number of steps that have updated them, so that step s, of
/// whatever ticket, makes version s + 1 of version s.
///
///   - A batch is taken when its place is free, that of the ticket modulo the places; it keeps it until its step is
///     over. Nothing that is taken is ever dropped: there is no queue that could be full.
///   - Lookups are made in the order of tickets, that of t at a version v with t - S <= v <= t.
///   - All ranks look t up at one version: each proposes its own and holds it, the largest is agreed on, and those
///     behind take the steps in between. The others have taken them, so nobody waits for a rank that waits.
///   - No update runs during a lookup.
///   - In order of completion a batch may be taken before an older one u if that still has a step s <= v_u + S: the
///     n-th of the older ones that are left (from 0) is taken in the n-th step from now at the latest.
class TicketBook {
 public:
  /// Throws std::invalid_argument for a negative number of threads or bound, and for a capacity below 1 with threads.
  explicit TicketBook(const PipelineShape& shape);

  const PipelineShape& shape() const { return shape_; }

  /// Allows tickets below `end`; never fewer than before.
  void extend(Ticket end);
  Ticket end() const { return end_; }

  // These prepare batches: begin() and end() enclose the work of the task's stage; end() moves the task on.
  bool may_begin(const AheadTask& task) const;
  void begin(AheadTask& task);
  void end(AheadTask& task);

  // These take the steps, one after the other: consume, update, release.
  /// Returns the ticket that the next step takes, complete: of those that may be taken, the one that was complete
  /// first.
  std::optional<Ticket> next() const;
  /// Returns whether a ticket may be consumed that was next() on another rank.
  bool may_consume(Ticket ticket) const { return is_waiting(ticket) && lets_older_ones_wait(ticket); }
  void consume(Ticket ticket);
  /// Returns how many batches are prepared and wait.
  std::int64_t depth() const;
  /// Returns how many batches before this one in the input have not been taken yet.
  std::int64_t overtaken(Ticket ticket) const;
  /// Returns the version that the lookup of the ticket saw; where the lookup is made in the step, the version of the
  /// tables.
  std::int64_t seen(Ticket ticket) const { return shape_.looks_up ? place(ticket).seen : version_; }
  bool may_update() const { return !held_ || version_ < *held_; }
  void begin_update();
  void end_update();
  /// Frees the place of the latest ticket that was consumed.
  void release();

  std::int64_t version() const { return version_; }
  /// Returns the number of tickets whose steps are over.
  Ticket released() const { return released_; }
  Ticket taken() const { return taken_; }

 private:
  enum class State { free, prefetching, waiting, in_step };
  struct Place {
    State state = State::free;
    std::int64_t seen = 0;
    std::int64_t completed = 0;  ///< how many were complete before it
  };
  const Place& place(Ticket ticket) const { return places_[static_cast<std::size_t>(ticket % shape_.places())]; }
  Place& place(Ticket ticket) { return places_[static_cast<std::size_t>(ticket % shape_.places())]; }
  /// Returns whether a ticket is still to be consumed; for tickets from oldest_ to taken_, whose places differ.
  bool is_left(Ticket ticket) const { return place(ticket).state == State::prefetching || is_waiting(ticket); }
  bool is_waiting(Ticket ticket) const { return ticket < taken_ && place(ticket).state == State::waiting; }
  bool lets_older_ones_wait(Ticket ticket) const;

  PipelineShape shape_;
  Ticket end_ = 0, taken_ = 0, to_look_up_ = 0, released_ = 0;
  Ticket oldest_ = 0;   ///< that has not been consumed
  Ticket in_step_ = 0;  ///< the latest that has been
  std::int64_t version_ = 0, completed_ = 0;
  bool updating_ = false;
  std::optional<std::int64_t> held_;  ///< no update may begin at this version
  std::vector<Place> places_;
};

}  // namespace shardmark::workloads
