// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/pipeline/ticket_book.hpp"

#include <algorithm>
#include <stdexcept>

namespace shardmark::workloads {

TicketBook::TicketBook(const PipelineShape& shape) : shape_(shape) {
  if (shape.threads < 0 || (!shape.inlined() && shape.capacity < 1) || shape.bound < 0)
    throw std::invalid_argument("a pipeline needs room for a batch beside its threads, and a bound of at least 0");
  places_.resize(static_cast<std::size_t>(shape.places()));
}

void TicketBook::extend(Ticket end) { end_ = std::max(end_, end); }

bool TicketBook::may_begin(const AheadTask& task) const {
  switch (task.stage) {
    case AheadStage::read:
      return taken_ < end_ && place(taken_).state == State::free;
    case AheadStage::agree:
      return task.ticket == to_look_up_ && !held_ && !updating_ && version_ + shape_.bound >= task.ticket;
    case AheadStage::look_up:
      return version_ == task.version && !updating_;
    case AheadStage::distribute:
    case AheadStage::deliver:
      break;
  }
  return true;
}

void TicketBook::begin(AheadTask& task) {
  if (task.stage == AheadStage::read) {
    task.ticket = taken_++;
    place(task.ticket).state = State::prefetching;
  }
  if (task.stage == AheadStage::agree) {
    held_ = version_;
    task.version = version_;
  }
}

void TicketBook::end(AheadTask& task) {
  switch (task.stage) {
    case AheadStage::read:
      task.stage = AheadStage::distribute;
      return;
    case AheadStage::distribute:
      if (shape_.looks_up) {
        task.stage = AheadStage::agree;
        return;
      }
      break;
    case AheadStage::agree:
      held_ = task.version;
      task.stage = AheadStage::look_up;
      return;
    case AheadStage::look_up:
      place(task.ticket).seen = version_;
      held_.reset();
      ++to_look_up_;
      task.stage = AheadStage::deliver;
      return;
    case AheadStage::deliver:
      break;
  }
  place(task.ticket).state = State::waiting;
  place(task.ticket).completed = completed_++;
  task.stage = AheadStage::read;
}

/// Lookups are made in the order of tickets, so that the older ones of one that is complete have seen a version.
bool TicketBook::lets_older_ones_wait(Ticket ticket) const {
  if (shape_.in_order) return ticket == oldest_;
  std::int64_t step = version_;  // in which the older one is taken when this one is taken now
  for (Ticket older = oldest_; older < ticket; ++older)
    if (is_left(older) && shape_.looks_up && ++step > place(older).seen + shape_.bound) return false;
  return true;
}

std::optional<Ticket> TicketBook::next() const {
  std::optional<Ticket> next;
  for (Ticket t = oldest_; t < taken_; ++t)
    if (may_consume(t) && (!next || place(t).completed < place(*next).completed)) next = t;
  return next;
}

void TicketBook::consume(Ticket ticket) {
  place(ticket).state = State::in_step;
  in_step_ = ticket;
  while (oldest_ < taken_ && !is_left(oldest_)) ++oldest_;
}

std::int64_t TicketBook::depth() const {
  std::int64_t depth = 0;
  for (Ticket t = oldest_; t < taken_; ++t) depth += is_waiting(t) ? 1 : 0;
  return depth;
}

std::int64_t TicketBook::overtaken(Ticket ticket) const {
  std::int64_t older = 0;
  for (Ticket t = oldest_; t < ticket; ++t) older += is_left(t) ? 1 : 0;
  return older;
}

void TicketBook::begin_update() { updating_ = true; }

void TicketBook::end_update() {
  updating_ = false;
  ++version_;
}

void TicketBook::release() {
  place(in_step_).state = State::free;
  ++released_;
}

}  // namespace shardmark::workloads
