// SPDX-License-Identifier: Apache-2.0
#pragma once

// Included before all else where kernels are compiled with warps on a processor: the lanes of a warp are stacks of
// their own that take turns in a random order wherever they have to wait for each other. What lanes do not agree on
// ends the program: one that comes to another collective, or to none. Kernels run one warp after the other, on one
// thread.
#define SHARDMARK_EMULATED_WARPS

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>

namespace shardmark::kernels::emulated {

inline constexpr int warp_size = 32;

enum class Collective { shuffle, all, any, maximum, match, barrier };

class Warp {
 public:
  static Warp& get() {
    static Warp warp;
    return warp;
  }

  /// Calls body(lane) for the lanes of one warp.
  void run(const std::function<void(int)>& body) {
    body_ = &body;
    arrived_ = 0;
    stride_ = static_cast<int>(random_() % (warp_size / 2)) * 2 + 1;
    for (Lane& lane : lanes_) lane.done = false;
    current_ = static_cast<int>(random_() % warp_size);
    leave(caller_, lanes_[current_].place);
    if (arrived_ > 0) fail("some lanes ended while others waited for them");
  }

  /// Gives `value` to all lanes and returns result(values of all lanes, own lane).
  template <class Result>
  auto collective(Collective kind, std::uint64_t value, const Result& result) {
    // Two arrays in turn: who is at the next collective may write while others read those of this one.
    const int own = current_;
    std::uint64_t(&values)[warp_size] = values_[generation_ % 2];
    values[own] = value;
    wait(kind);
    return result(values, own);
  }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{1} << 18;
  struct Lane {
    jmp_buf place;  ///< where it goes on
    ucontext_t context{};
    std::unique_ptr<char[]> stack = std::make_unique<char[]>(stack_bytes);
    bool done = false;
  };

  Warp() {
    for (int lane = 0; lane < warp_size; ++lane) {
      Lane& of = lanes_[lane];
      getcontext(&of.context);
      of.context.uc_stack.ss_sp = of.stack.get();
      of.context.uc_stack.ss_size = stack_bytes;
      of.context.uc_link = nullptr;
      makecontext(&of.context, reinterpret_cast<void (*)()>(&Warp::enter), 2, static_cast<unsigned>(address() >> 32),
                  static_cast<unsigned>(address()));
      current_ = lane;
      if (_setjmp(caller_) == 0) setcontext(&of.context);
    }
  }
  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(this); }

  [[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "emulated warp: %s\n", what);
    std::abort();
  }
  /// Goes on at `to` until something goes on at `from`. A context that is switched to costs a call of the system; this
  /// does not.
  __attribute__((noinline)) static void leave(jmp_buf& from, jmp_buf& to) {
    if (_setjmp(from) == 0) _longjmp(to, 1);
  }
  /// Is what a lane does for as long as the program runs: the body of each warp.
  static void enter(unsigned high, unsigned low) {
    Warp& warp = *reinterpret_cast<Warp*>(std::uintptr_t{high} << 32 | low);
    Lane& own = warp.lanes_[warp.current_];
    leave(own.place, warp.caller_);
    for (;;) {
      (*warp.body_)(warp.current_);
      own.done = true;
      const int next = warp.next();
      warp.current_ = next < 0 ? warp.current_ : next;
      leave(own.place, next < 0 ? warp.caller_ : warp.lanes_[next].place);
    }
  }
  /// Returns the lane that goes on when this one waits or ends, or -1.
  int next() const {
    for (int k = 1; k < warp_size; ++k)
      if (const int lane = (current_ + k * stride_) % warp_size; !lanes_[lane].done) return lane;
    return -1;
  }
  /// Goes on when all lanes have come to this collective.
  void wait(Collective kind) {
    if (arrived_ > 0 && kind != kind_) fail("lanes came to different collectives");
    kind_ = kind;
    const std::int64_t own = generation_;
    if (++arrived_ == warp_size) {
      arrived_ = 0;
      ++generation_;
      return;
    }
    while (generation_ == own) {
      const int from = current_, to = next();
      if (to < 0) fail("a lane waits for others that have ended");
      current_ = to;
      leave(lanes_[from].place, lanes_[to].place);
    }
  }

  jmp_buf caller_;
  Lane lanes_[warp_size];
  const std::function<void(int)>* body_ = nullptr;
  std::uint64_t values_[2][warp_size] = {};
  std::minstd_rand random_{1};
  int stride_ = 1, current_ = 0, arrived_ = 0;
  Collective kind_ = Collective::barrier;
  std::int64_t generation_ = 0;
};

/// Calls kernel(i) for the lanes of `count` warps, i ascending from warp to warp.
template <class Kernel>
void for_lanes(std::int64_t count, const Kernel& kernel) {
  for (std::int64_t warp = 0; warp < count; ++warp) Warp::get().run([&](int lane) { kernel(warp * warp_size + lane); });
}

template <class T>
std::uint64_t bits_of(T value) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T value_of(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace shardmark::kernels::emulated

// These have CUDA's names and meanings; all lanes take part.
template <class T>
T __shfl_sync(unsigned, T value, int from, int width) {
  using namespace shardmark::kernels::emulated;
  return value_of<T>(Warp::get().collective(Collective::shuffle, bits_of(value), [&](const auto& values, int lane) {
    return values[(lane & ~(width - 1)) | (from & (width - 1))];
  }));
}
inline int __all_sync(unsigned, bool value) {
  using namespace shardmark::kernels::emulated;
  return Warp::get().collective(Collective::all, value, [](const auto& values, int) {
    return static_cast<int>(std::ranges::all_of(values, [](std::uint64_t each) { return each != 0; }));
  });
}
inline int __any_sync(unsigned, bool value) {
  using namespace shardmark::kernels::emulated;
  return Warp::get().collective(Collective::any, value, [](const auto& values, int) {
    return static_cast<int>(std::ranges::any_of(values, [](std::uint64_t each) { return each != 0; }));
  });
}
inline int __reduce_max_sync(unsigned, int value) {
  using namespace shardmark::kernels::emulated;
  return Warp::get().collective(Collective::maximum, bits_of(value), [](const auto& values, int) {
    int most = value_of<int>(values[0]);
    for (const std::uint64_t each : values) most = std::max(most, value_of<int>(each));
    return most;
  });
}
inline unsigned __match_any_sync(unsigned, unsigned long long value) {
  using namespace shardmark::kernels::emulated;
  return Warp::get().collective(Collective::match, value, [&](const auto& values, int) {
    unsigned same = 0;
    for (int lane = 0; lane < warp_size; ++lane) same |= values[lane] == value ? 1U << lane : 0U;
    return same;
  });
}
inline void __syncwarp() {
  using namespace shardmark::kernels::emulated;
  Warp::get().collective(Collective::barrier, 0, [](const auto&, int) { return 0; });
}
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline int __ffs(int value) { return __builtin_ffs(value); }
