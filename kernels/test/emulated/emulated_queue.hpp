// SPDX-License-Identifier: Apache-2.0
#pragma once

// The memory and the one queue of the emulated device. Knows no Kokkos.
#include <execinfo.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "kernels/test/emulated/fibers.hpp"
#include "kernels/test/emulated/guarded_heap.hpp"

namespace shardmark::kernels::emulated {

/// Gives memory outside of the guarded heap, which kernels may not touch.
template <class T>
struct Malloc {
  using value_type = T;
  Malloc() = default;
  template <class U>
  Malloc(const Malloc<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(std::malloc(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) { std::free(p); }
  friend bool operator==(Malloc, Malloc) { return true; }
};

/// Is a device that is not there. Kernels and copies are queued, and run only where the host waits: so a wait that is
/// missing is a wrong value each time, not a race. Its memory is PROT_NONE for everything but them: what touches it on
/// the host ends the program, with the array's label. Each allocation has pages of its own and begins as NaN (-1 as
/// an integer). Frees are queued too, as cudaFreeAsync does, so that they hide no missing wait. Steps of others can be
/// queued between them, which may have to wait for other processes: behind such a step nothing runs before it is done.
///
/// SHARDMARK_EMULATED says when the queue runs: `deferred` (default: where the host waits), `eager` (at once, as
/// threads of a host do: what passes here and fails deferred lacks a wait), `random:SEED` (a random part of it also at
/// random calls, indices in drawn orders) or `deferred:LAUNCH` (from that launch on, whose callers it prints).
class Device {
 public:
  static Device& get() {
    alignas(Device) static char storage[sizeof(Device)];  // neither destroyed before static arrays, nor in a heap
    static Device* const device = new (storage) Device;
    return *device;
  }

  /// Counts what a step should do rarely.
  struct Counts {
    std::int64_t launches = 0, copies_to_host = 0, waits = 0, allocations = 0;
  };
  Counts counts() const { return counts_; }

  bool holds(const void* pointer) const { return pointer >= base_ && pointer < base_ + reserved; }
  /// Says whether these bytes are all of one allocation.
  bool holds(const void* pointer, std::size_t bytes) const {
    if (!holds(pointer)) return false;
    const std::lock_guard lock(mutex_);
    const auto at = static_cast<std::size_t>(static_cast<const char*>(pointer) - base_);
    const auto behind = blocks_.upper_bound(at);
    return behind != blocks_.begin() && at + bytes <= std::prev(behind)->first + std::prev(behind)->second.size;
  }
  /// Says whether an allocation begins there.
  bool begins_block(const void* pointer) const {
    const std::lock_guard lock(mutex_);
    return holds(pointer) && blocks_.contains(static_cast<std::size_t>(static_cast<const char*>(pointer) - base_));
  }
  /// Says whether the caller is a kernel.
  bool runs_here() const { return running_ && runner_ == std::this_thread::get_id(); }

  void* allocate(const char* label, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    require_no_recording("an allocation");
    ++counts_.allocations;
    const std::size_t size = round_up(bytes, page);
    std::size_t at = used_;
    if (const auto hole = holes_.lower_bound(size); hole != holes_.end() && hole->first <= size + size / 4) {
      at = hole->second;
      holes_.erase(hole);
    } else {
      if (used_ + size > reserved) fail("its 64 GiB are in use");
      used_ += size;
      madvise(base_, round_up(used_, huge_page), MADV_DODUMP);
      if (opened_ > 0) protect(PROT_READ | PROT_WRITE);
      blocks_[at].size = size;
    }
    blocks_[at].label = label;
    const Opened opened(*this);
    std::memset(base_ + at, 0xff, blocks_[at].size);
    return base_ + at;
  }
  void free(void* pointer) {
    std::unique_lock lock(mutex_);
    push(false, [this, at = static_cast<std::size_t>(static_cast<char*>(pointer) - base_)] {
      Block& block = blocks_[at];
      std::memset(base_ + at, 0xff, block.size);
      holes_.emplace(block.size, at);
    });
    first_ == last_ ? run_queue() : run_some(lock);
  }

  /// Puts a kernel or a copy at the end of the queue.
  template <class Work>
  void launch(Work work) {
    std::unique_lock lock(mutex_);
    if (recording_) {
      if (recorder_ != std::this_thread::get_id()) fail("another thread launches among launches that are recorded");
      return recording_->add(new TaskOf<Work>(std::move(work)));
    }
    if (++counts_.launches == deferred_from_) begin_to_defer();
    push(true, std::move(work));
    run_some(lock);
  }
  void copy(void* to, const void* from, std::size_t bytes) {
    std::unique_lock lock(mutex_);
    require_no_recording("a copy");
    if (!holds(to)) ++counts_.copies_to_host;
    push(false, [=] { std::memcpy(to, from, bytes); });
    run_some(lock);
  }

  class Recording;  ///< of launches
  /// Keeps what is launched from now on, in place of running it.
  void begin_recording() {
    const std::lock_guard lock(mutex_);
    if (recording_) fail("a recording begins in another one");
    recording_ = std::make_shared<Recording>();
    recorder_ = std::this_thread::get_id();
  }
  std::shared_ptr<const Recording> end_recording() { return std::exchange(recording_, nullptr); }
  /// Puts all that was recorded at the end of the queue, as one launch. The recording must live until it has run.
  void launch(const Recording& recording) {
    std::unique_lock lock(mutex_);
    ++counts_.launches;
    for (Task* task = recording.first; task != nullptr; task = task->next) push(true, [task] { task->run(); });
    run_some(lock);
  }

  /// Puts a step of others at the end of the queue, which opens the memory itself; it is made again while it returns
  /// false.
  void push_step(std::function<bool()> step) {
    const std::lock_guard lock(mutex_);
    require_no_recording("a step of others");
    push(false, std::move(step));
  }
  /// Runs the queue until reached() or a step that is not done. Returns whether nothing is left in it.
  bool run_until(const std::function<bool()>& reached) {
    const std::lock_guard lock(mutex_);
    run_queue(std::numeric_limits<std::int64_t>::max(), reached);
    return first_ == nullptr;
  }
  /// Is held by a thread that is in a function of the device.
  std::recursive_mutex& turn() { return mutex_; }
  /// Copies at once what Kokkos keeps before an array.
  void copy_header(void* to, const void* from, std::size_t bytes) {
    const Opened opened(*this);
    std::memcpy(to, from, bytes);
  }

  /// Runs all that is in the queue.
  void wait() {
    std::unique_lock lock(mutex_);
    if (running_) return;
    require_no_recording("a wait");
    ++counts_.waits;
    run_all(lock);
  }

  /// Lets the host touch the memory, but does not run the queue: what is behind a library that reads the memory of a
  /// device.
  class Opened {
   public:
    explicit Opened(Device& device) : device_(device) { device_.open(); }
    ~Opened() { device_.close(); }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;

   private:
    Device& device_;
  };

  /// Returns whether orders are drawn, so that sums of the same values differ by rounding.
  bool draws_orders() const { return when_ == When::random; }

  /// Calls body(i) for begin <= i < end, in an order that no kernel may rely on.
  template <class Body>
  void for_each(std::int64_t begin, std::int64_t end, const Body& body) {
    if (when_ == When::eager) {
      for (std::int64_t i = begin; i < end; ++i) body(i);
    } else if (when_ == When::deferred || end - begin < 2 || random_() % 2 == 0) {
      for (std::int64_t i = end; i-- > begin;) body(i);
    } else {
      const std::int64_t middle = begin + static_cast<std::int64_t>(random_() % (end - begin));
      for (std::int64_t i = middle; i < end; ++i) body(i);
      for (std::int64_t i = begin; i < middle; ++i) body(i);
    }
  }

 private:
  enum class When { deferred, eager, random };
  static constexpr std::size_t reserved = std::size_t{64} << 30, page = 4096, huge_page = std::size_t{2} << 20;
  static std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }
  struct Block {
    std::size_t size = 0;
    std::string label;
  };
  template <class Work>
  static constexpr bool is_step = std::is_same_v<Work, std::function<bool()>>;
  struct Task {
    Task* next = nullptr;
    bool kernel = false, step = false;
    virtual ~Task() = default;
    virtual bool run() = 0;  ///< returns whether it is done
    static void* operator new(std::size_t bytes) { return std::malloc(bytes); }
    static void operator delete(void* pointer) { std::free(pointer); }
  };
  template <class Work>
  struct TaskOf : Task {
    Work work;
    explicit TaskOf(Work&& of) : work(std::move(of)) {}
    bool run() override {
      if constexpr (is_step<Work>) return work();
      work();
      return true;
    }
  };

 public:
  /// Is a list of launches that were kept, in memory that kernels may touch.
  class Recording {
   public:
    Task* first = nullptr;

    Recording() = default;
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording() {
      get().wait();
      while (first != nullptr) delete std::exchange(first, first->next);
    }
    void add(Task* task) {
      (last_ == nullptr ? first : last_->next) = task;
      last_ = task;
    }

   private:
    Task* last_ = nullptr;
  };

 private:
  Device() {
    void* addresses =
        mmap(nullptr, reserved + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (addresses == MAP_FAILED) fail("no addresses for its memory");
    base_ = reinterpret_cast<char*>(round_up(reinterpret_cast<std::uintptr_t>(addresses), huge_page));
    madvise(base_, reserved, MADV_HUGEPAGE);
    madvise(base_, reserved,
            MADV_DONTDUMP);  // unlike what is in use, so that setting rights moves no border of the system's
    const char* wish = std::getenv("SHARDMARK_EMULATED");
    const std::string_view named = wish != nullptr ? wish : "deferred";
    if (named == "eager") {
      when_ = When::eager;
    } else if (named.starts_with("random:")) {
      when_ = When::random;
      random_.seed(std::strtoul(named.data() + 7, nullptr, 10));
    } else if (named.starts_with("deferred:")) {
      when_ = When::eager;
      deferred_from_ = std::strtol(named.data() + 9, nullptr, 10);
    } else if (named != "deferred") {
      fail("SHARDMARK_EMULATED is deferred, deferred:LAUNCH, eager or random:SEED");
    }
    struct sigaction action {};
    action.sa_sigaction = &Device::on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
  }

  /// Says which launch is the first that is deferred: the last that makes a test fail lacks a wait behind it.
  void begin_to_defer() {
    when_ = When::deferred;
    void* frames[40];
    backtrace_symbols_fd(frames, backtrace(frames, 40), STDERR_FILENO);
  }

  static void on_fault(int, siginfo_t* info, void*) {
    const Device& device = get();
    const char* at = static_cast<const char*>(info->si_addr);
    if (GuardedHeap::holds(at) && !device.runs_here() && device.running_) {
      usleep(100);  // a kernel runs on another thread, and this one may touch memory of the host: again
      return;
    }
    char line[256];
    int length = 0;
    if (GuardedHeap::holds(at))
      length = std::snprintf(line, sizeof line, "emulated device: a kernel touched memory of the host\n");
    else if (device.holds(at))
      length = std::snprintf(line, sizeof line, "emulated device: the host touched \"%s\", memory of the device\n",
                             device.label_at(at).c_str());
    else
      length = std::snprintf(line, sizeof line, "SIGSEGV at %p\n", info->si_addr);
    if (write(STDERR_FILENO, line, static_cast<std::size_t>(length)) > 0) {
      void* frames[40];
      backtrace_symbols_fd(frames, backtrace(frames, 40), STDERR_FILENO);
    }
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
  }
  std::string label_at(const char* pointer) const {
    const auto block = blocks_.upper_bound(static_cast<std::size_t>(pointer - base_));
    return block == blocks_.begin() ? "?" : std::prev(block)->second.label;
  }

  /// Sets the rights of all that is in use, by whole huge pages: those of small ones take ten times as long to set.
  void protect(int rights) const {
    if (used_ > 0 && mprotect(base_, round_up(used_, huge_page), rights) != 0) fail("mprotect has failed");
  }
  void open() {
    const std::lock_guard lock(mutex_);
    if (opened_++ == 0) protect(PROT_READ | PROT_WRITE);
  }
  void close() {
    const std::lock_guard lock(mutex_);
    if (--opened_ == 0) protect(PROT_NONE);
  }

  void require_no_recording(const char* what) const {
    if (recording_) fail((std::string(what) + " among launches that are recorded").c_str());
  }

  template <class Work>
  void push(bool kernel, Work work) {
    Task* task = new TaskOf<Work>(std::move(work));
    task->kernel = kernel;
    task->step = is_step<Work>;
    (last_ == nullptr ? first_ : last_->next) = task;
    last_ = task;
  }
  void run_some(std::unique_lock<std::recursive_mutex>& lock) {
    if (when_ == When::eager) run_all(lock);
    if (when_ == When::random && random_() % 4 == 0) run_queue(static_cast<std::int64_t>(random_() % 8));
  }
  /// Runs the queue; other threads go on while a step is not done.
  void run_all(std::unique_lock<std::recursive_mutex>& lock) {
    for (run_queue(); first_ != nullptr && !running_; run_queue()) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
  }
  void run_queue(std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                 const std::function<bool()>& reached = {}) {
    if (running_) return;
    std::optional<Opened> opened;
    runner_ = std::this_thread::get_id();
    running_ = true;
    while (first_ != nullptr && most-- > 0 && !(reached && reached())) {
      Task* task = first_;
      if (!task->step && !opened) opened.emplace(*this);
      if (task->kernel) GuardedHeap::close();
      const bool done = task->run();
      if (task->kernel) GuardedHeap::open();
      if (!done) break;
      first_ = task->next;
      if (first_ == nullptr) last_ = nullptr;
      delete task;
    }
    running_ = false;
  }

  mutable std::recursive_mutex mutex_;
  char* base_ = nullptr;
  std::size_t used_ = 0;
  int opened_ = 0;
  std::map<std::size_t, Block> blocks_;            ///< by offset
  std::multimap<std::size_t, std::size_t> holes_;  ///< offsets by size
  Task *first_ = nullptr, *last_ = nullptr;        ///< of the queue
  std::shared_ptr<Recording> recording_;
  std::thread::id recorder_;
  volatile bool running_ = false;
  std::thread::id runner_;
  When when_ = When::deferred;
  std::minstd_rand random_{1};
  std::int64_t deferred_from_ = -1;
  Counts counts_;
};

}  // namespace shardmark::kernels::emulated
