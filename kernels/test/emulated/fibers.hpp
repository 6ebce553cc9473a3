// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace shardmark::kernels::emulated {

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "emulated device: %s\n", what);
  std::abort();
}

/// Is a set of stacks that take turns on one thread: the lanes of a warp, or the threads of a team.
class Fibers {
 public:
  static constexpr int most = 1024;
  static constexpr int none = -1;

  /// Calls body(fiber) on the stack of `first` and of each that others go on with. The body returns which fiber goes on
  /// when this one has ended, or none when all have.
  template <class Body>
  void run(int first, const Body& body) {
    body_ = [](const void* of, int fiber) { return (*static_cast<const Body*>(of))(fiber); };
    of_ = &body;
    start(caller_, first);
  }
  int current() const { return current_; }

  /// Leaves the current fiber until another goes on with it.
  void go_on_with(int fiber) { start(fibers_[current_].place, fiber); }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{1} << 18;
  struct Fiber {
    jmp_buf place;  ///< where it goes on
    bool made = false;
  };

  /// Goes on at `to` until something goes on at `from`. A context that is switched to costs a call of the system; this
  /// does not.
  __attribute__((noinline)) static void leave(jmp_buf& from, jmp_buf& to) {
    if (_setjmp(from) == 0) _longjmp(to, 1);
  }
  void start(jmp_buf& from, int fiber) {
    if (!fibers_[fiber].made) make(fiber);
    current_ = fiber;
    leave(from, fibers_[fiber].place);
  }
  /// Makes a stack, on which enter() waits to be gone on with.
  void make(int fiber) {
    ucontext_t context{};
    getcontext(&context);
    void* stack =
        mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) fail("no memory for the stack of a lane");
    context.uc_stack.ss_sp = stack;
    // The tops of stacks are apart by more than whole pages, so that they do not share a few lines of the caches.
    context.uc_stack.ss_size = stack_bytes - fiber % 64 * std::size_t{1088};
    const auto address = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&context, reinterpret_cast<void (*)()>(&Fibers::enter), 3, static_cast<unsigned>(address >> 32),
                static_cast<unsigned>(address), fiber);
    fibers_[fiber].made = true;
    if (_setjmp(maker_) == 0) setcontext(&context);
  }
  static void enter(unsigned high, unsigned low, int fiber) {
    Fibers& all = *reinterpret_cast<Fibers*>(std::uintptr_t{high} << 32 | low);
    Fiber& own = all.fibers_[fiber];
    leave(own.place, all.maker_);
    for (;;) {
      const int next = all.body_(all.of_, fiber);
      if (next == none)
        leave(own.place, all.caller_);
      else
        all.start(own.place, next);
    }
  }

  jmp_buf caller_, maker_;
  Fiber fibers_[most];
  int (*body_)(const void*, int) = nullptr;
  const void* of_ = nullptr;
  int current_ = 0;
};

}  // namespace shardmark::kernels::emulated
