// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/progress_thread.hpp"

#include <chrono>
#include <stdexcept>

namespace shardmark::comm {
namespace {

constexpr auto time_to_finish = std::chrono::milliseconds(250);

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

ProgressThread::ProgressThread(Waiting waiting) : shared_(std::make_shared<Shared>()) {
  thread_ = std::thread([shared = shared_, waiting] {
    set_waiting(waiting);
    serve(*shared);
  });
}

ProgressThread::~ProgressThread() {
  if (!shared_) return;
  bool working = false;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
    working = shared_->working;
  }
  shared_->changed.notify_all();
  if (working) {  // a call that never ends must not keep this rank's error from being told; what it uses stays
    for (auto& task : tasks_) static_cast<void>(task.release());
    thread_.detach();
  } else {
    thread_.join();
  }
}

void ProgressThread::serve(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.changed.wait(lock, [&] { return shared.closed || !shared.waiting.empty(); });
    if (shared.closed) return;
    Job& job = *shared.waiting.front();
    shared.waiting.erase(shared.waiting.begin());
    shared.working = true;
    lock.unlock();
    const double begin = seconds();
    try {
      job.invoke(job.what);
    } catch (...) {
      job.error = std::current_exception();
    }
    lock.lock();
    shared.busy += seconds() - begin;
    shared.working = false;
    shared.closed |= job.error != nullptr;
    job.done = true;
    shared.changed.notify_all();
  }
}

void ProgressThread::run_job(Job& job) {
  if (current_ == nullptr) {
    const double begin = seconds();
    job.invoke(job.what);
    plain_busy_ += seconds() - begin;
    exposed_ += seconds() - begin;
    return;
  }
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->waiting.push_back(&job);
  }
  shared_->changed.notify_all();
  Task& task = *current_;
  task.waits_for = &job;
  task.away_since = seconds();
  task.stack.leave();
  if (job.error) std::rethrow_exception(job.error);
}

void ProgressThread::wait_for(const Job& job) {
  const double begin = seconds();
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return job.done || (shared_->closed && !shared_->working); });
  exposed_ += seconds() - begin;
  if (!job.done) throw std::runtime_error("progress: the call before this one failed");
}

void ProgressThread::run_task(void* started) {
  Task& task = *static_cast<Task*>(started);
  try {
    task.progress->body_(task.progress->what_, task.number);
  } catch (...) {
    task.error = std::current_exception();
  }
  task.finished = true;
}

void ProgressThread::start(Task& task) {
  task.progress = this;
  task.finished = false;
  task.waits_for = nullptr;
  task.away = 0.0;
  task.stack.start(run_task, &task);
}

void ProgressThread::resume(Task& task) {
  if (task.waits_for != nullptr) {
    task.away += seconds() - task.away_since;  // what follows is its own wait
    wait_for(*task.waits_for);
    task.waits_for = nullptr;
  }
  current_ = &task;
  task.stack.enter();
  current_ = nullptr;
  if (task.error) std::rethrow_exception(task.error);
}

void ProgressThread::interleave_tasks(std::int64_t count, void (*body)(void*, std::int64_t), void* what) {
  if (!shared_ || count == 1) {
    for (std::int64_t task = 0; task < count; ++task) body(what, task);
    return;
  }
  body_ = body;
  what_ = what;
  while (std::ssize(tasks_) < count) tasks_.push_back(std::make_unique<Task>());
  for (std::int64_t t = 0; t < count; ++t) {
    tasks_[t]->number = t;
    start(*tasks_[t]);
  }
  try {
    for (std::int64_t left = count; left > 0;) {
      for (std::int64_t t = 0; t < count; ++t) {
        Task& task = *tasks_[t];
        if (task.finished) continue;
        resume(task);
        if (task.finished) --left;
      }
    }
  } catch (...) {
    give_up();
    throw;
  }
}

/// No more calls; the one that is being made may have buffers that go away, so it gets a little time.
void ProgressThread::give_up() {
  current_ = nullptr;
  std::unique_lock lock(shared_->mutex);
  shared_->closed = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, time_to_finish, [&] { return !shared_->working; });
}

double ProgressThread::now() const { return seconds() - (current_ != nullptr ? current_->away : 0.0); }

double ProgressThread::busy_seconds() const {
  if (!shared_) return plain_busy_;
  const std::lock_guard lock(shared_->mutex);
  return plain_busy_ + shared_->busy;
}

}  // namespace shardmark::comm
