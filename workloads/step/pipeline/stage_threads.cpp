// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/pipeline/stage_threads.hpp"

#include <chrono>
#include <stdexcept>

namespace shardmark::workloads {
namespace {

constexpr auto time_to_end = std::chrono::milliseconds(250);

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Work>
std::exception_ptr failure_of(const Work& work) try {
  work();
  return nullptr;
} catch (...) {
  return std::current_exception();
}

void run_stage(AheadWork& work, AheadTask& task) {
  switch (task.stage) {
    case AheadStage::read:
      return work.read(task.ticket);
    case AheadStage::distribute:
      return work.distribute(task.ticket);
    case AheadStage::agree:
      task.version = work.agree(task.ticket, task.version);
      return;
    case AheadStage::look_up:
      return work.look_up(task.ticket);
    case AheadStage::deliver:
      return work.deliver(task.ticket);
  }
}

}  // namespace

struct StageThreads::Shared {
  Shared(const PipelineShape& shape, AheadWork& of) : book(shape), work(of), alive(shape.threads) {}

  mutable std::mutex mutex;
  std::condition_variable changed;
  TicketBook book;
  AheadWork& work;
  PipelineCounts counts;
  std::int64_t alive;
  bool stopped = false;
  std::exception_ptr failure;
};

StageThreads::StageThreads(const PipelineShape& shape, AheadWork& work, const std::function<void()>& first)
    : shared_(std::make_shared<Shared>(shape, work)) {
  for (std::int64_t t = 0; t < shape.threads; ++t)
    threads_.emplace_back([shared = shared_, first] { serve(shared, first); });
}

StageThreads::~StageThreads() { stop(); }

void StageThreads::serve(const std::shared_ptr<Shared>& shared, const std::function<void()>& first) {
  const std::exception_ptr unable = failure_of(first);
  AheadTask task;
  Lock lock(shared->mutex);
  if (unable) shared->failure = unable;
  for (;;) {
    const double before = seconds_now();
    shared->changed.wait(lock, [&] { return shared->stopped || shared->failure || shared->book.may_begin(task); });
    if (shared->stopped || shared->failure) break;
    make_stage(*shared, lock, task, before);
    shared->changed.notify_all();
  }
  --shared->alive;
  shared->changed.notify_all();
}

/// Runs the stage of the task, which may begin; unlocked meanwhile.
void StageThreads::make_stage(Shared& shared, Lock& lock, AheadTask& task, double waiting_since) {
  shared.book.begin(task);
  const auto stage = static_cast<std::size_t>(task.stage);
  lock.unlock();
  const double begin = seconds_now();
  const std::exception_ptr failure = failure_of([&] { run_stage(shared.work, task); });
  const double end = seconds_now();
  lock.lock();
  shared.counts.wait_seconds[stage] += begin - waiting_since;
  shared.counts.work_seconds[stage] += end - begin;
  if (failure) {
    if (!shared.failure) shared.failure = failure;
    return;
  }
  shared.book.end(task);
  if (task.stage == AheadStage::read) ++shared.counts.prepared;
}

/// Returns the seconds that it took.
template <class Ready>
double StageThreads::wait(Lock& lock, const Ready& ready) {
  const double begin = seconds_now();
  shared_->changed.wait(lock, [&] { return shared_->failure || ready(); });
  if (shared_->failure) std::rethrow_exception(shared_->failure);
  return seconds_now() - begin;
}

/// Prepares the next batch by this thread.
void StageThreads::prepare(Lock& lock) {
  AheadTask task;
  do make_stage(*shared_, lock, task, seconds_now());
  while (task.stage != AheadStage::read && !shared_->failure);
}

void StageThreads::extend(Ticket end) {
  {
    const Lock lock(shared_->mutex);
    shared_->book.extend(end);
  }
  shared_->changed.notify_all();
}

Ticket StageThreads::consume() {
  Lock lock(shared_->mutex);
  TicketBook& book = shared_->book;
  if (book.version() >= book.end()) throw std::logic_error("pipeline: a step was asked for beyond the last batch");
  shared_->counts.depth.add(book.depth());
  if (book.shape().inlined()) prepare(lock);
  const double begin = seconds_now();
  wait(lock, [&] { return book.next().has_value(); });
  Ticket ticket = *book.next();
  if (!book.shape().in_order) {
    lock.unlock();
    ticket = shared_->work.choose(ticket);
    lock.lock();
    wait(lock, [&] { return book.may_consume(ticket); });
  }
  shared_->counts.starved_seconds += seconds_now() - begin;
  shared_->counts.staleness.add(book.version() - book.seen(ticket));
  shared_->counts.overtaking += book.overtaken(ticket) > 0 ? 1 : 0;
  ++shared_->counts.steps;
  book.consume(ticket);
  return ticket;
}

void StageThreads::begin_update() {
  Lock lock(shared_->mutex);
  shared_->counts.held_seconds += wait(lock, [&] { return shared_->book.may_update(); });
  shared_->book.begin_update();
}

void StageThreads::end_update() {
  {
    const Lock lock(shared_->mutex);
    shared_->book.end_update();
  }
  shared_->changed.notify_all();
}

void StageThreads::release() {
  {
    const Lock lock(shared_->mutex);
    shared_->book.release();
  }
  shared_->changed.notify_all();
}

std::int64_t StageThreads::seen(Ticket ticket) const {
  const Lock lock(shared_->mutex);
  return shared_->book.seen(ticket);
}

PipelineCounts StageThreads::counts() const {
  const Lock lock(shared_->mutex);
  return shared_->counts;
}

bool StageThreads::stop() {
  if (threads_.empty()) return true;
  bool ended = false;
  {
    Lock lock(shared_->mutex);
    shared_->stopped = true;
    shared_->changed.notify_all();
    ended = shared_->changed.wait_for(lock, time_to_end, [&] { return shared_->alive == 0; });
  }
  for (std::thread& thread : threads_) ended ? thread.join() : thread.detach();
  threads_.clear();
  return ended;
}

}  // namespace shardmark::workloads
