// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/pipeline/ticket_book.hpp"

#include <algorithm>
#include <stdexcept>

namespace shardmark {

TicketBook::TicketBook(const PipelineShape& shape) : shape_(shape) {
  if (shape.threads < 0 || (!shape.inlined() && shape.capacity < 1) || shape.bound < 0)
    throw std::invalid_argument("a pipeline needs room for a batch beside its threads, and a bound of at least 0");
  seen_.resize(static_cast<std::size_t>(shape.places()));
  complete_.resize(static_cast<std::size_t>(shape.places()));
}

void TicketBook::extend(Ticket end) { end_ = std::max(end_, end); }

bool TicketBook::may_begin(const AheadTask& task) const {
  switch (task.stage) {
    case AheadStage::distribute:
      return taken_ < end_ && taken_ < released_ + shape_.places();
    case AheadStage::agree:
      return task.ticket == to_look_up_ && !held_ && !updating_ && version_ + shape_.bound >= task.ticket;
    case AheadStage::look_up:
      return version_ == task.version && !updating_;
    case AheadStage::deliver:
      break;
  }
  return true;
}

void TicketBook::begin(AheadTask& task) {
  if (task.stage == AheadStage::distribute) {
    task.ticket = taken_++;
    complete_[place(task.ticket)] = false;
  }
  if (task.stage == AheadStage::agree) {
    held_ = version_;
    task.version = version_;
  }
}

void TicketBook::end(AheadTask& task) {
  switch (task.stage) {
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
      seen_[place(task.ticket)] = version_;
      held_.reset();
      ++to_look_up_;
      task.stage = AheadStage::deliver;
      return;
    case AheadStage::deliver:
      break;
  }
  complete_[place(task.ticket)] = true;
  task.stage = AheadStage::distribute;
}

std::int64_t TicketBook::depth() const {
  std::int64_t depth = 0;
  for (Ticket t = steps_; t < taken_; ++t) depth += complete_[place(t)] ? 1 : 0;
  return depth;
}

void TicketBook::begin_update() { updating_ = true; }

void TicketBook::end_update() {
  updating_ = false;
  ++version_;
  complete_[place(steps_)] = false;
  ++steps_;
}

void TicketBook::release() { ++released_; }

}  // namespace shardmark
