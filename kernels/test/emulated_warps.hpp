// SPDX-License-Identifier: Apache-2.0
#pragma once

// Included before all else where kernels of devices are compiled for processors, to test them: the lanes of a warp are
// stacks of their own that take turns in a random order wherever they have to wait for each other. What lanes do not
// agree on ends the program: one that comes to another collective, with other lanes or to none, and one that asks for
// the value of a lane that does not take part. Kernels run one warp after the other, on one thread. What this does not
// show: here lanes that have come to any collective see what each other wrote, on a device only behind __syncwarp().
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
inline constexpr int places_for_warps = 8;

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
    alive_ = running_ = ~0U;
    stride_ = static_cast<int>(random_() % (warp_size / 2)) * 2 + 1;
    current_ = static_cast<int>(random_() % warp_size);
    leave(caller_, lanes_[current_].place);
  }
  int lane() const { return current_; }

  /// Waits until the lanes with a bit in `mask`, this one among them, have come to the same, each with a value of its
  /// own. Returns what the collective makes of them; that of a shuffle is the value of lane `from`.
  std::uint64_t collective(Collective kind, unsigned mask, std::uint64_t value, int from = 0) {
    Lane& own = lanes_[current_];
    own.kind = kind;
    own.mask = mask;
    own.value = value;
    own.from = from;
    if (!holds(mask, current_)) fail("a lane is none of those that it waits for");
    if ((mask & ~alive_) != 0) fail("a lane waits for others that have ended");
    running_ &= ~(1U << current_);
    if (have_come(mask, kind)) {
      const std::uint64_t of_all = joined(kind, mask);
      for (int lane = 0; lane < warp_size; ++lane)
        if (holds(mask, lane)) lanes_[lane].result = result_of(lanes_[lane], of_all);
      running_ |= mask;
    } else {
      go_on_with(next());
    }
    return own.result;
  }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{1} << 18;
  struct Lane {
    jmp_buf place;  ///< where it goes on
    ucontext_t context{};
    std::unique_ptr<char[]> stack = std::make_unique<char[]>(stack_bytes);
    Collective kind = Collective::barrier;  ///< that it waits for, with the arguments and the result
    unsigned mask = 0;
    int from = 0;
    std::uint64_t value = 0, result = 0;
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
      warp.alive_ &= ~(1U << warp.current_);
      warp.running_ &= ~(1U << warp.current_);
      if (warp.alive_ == 0)
        leave(own.place, warp.caller_);
      else
        warp.go_on_with(warp.next());
    }
  }
  static bool holds(unsigned mask, int lane) { return (mask >> lane & 1) != 0; }
  /// Returns the lane that goes on when this one waits or ends.
  int next() const {
    for (int k = 1; k < warp_size; ++k)
      if (const int lane = (current_ + k * stride_) % warp_size; holds(running_, lane)) return lane;
    fail("lanes wait for others that have ended, or wait elsewhere");
  }
  void go_on_with(int lane) {
    Lane& own = lanes_[current_];
    current_ = lane;
    leave(own.place, lanes_[lane].place);
  }
  bool have_come(unsigned mask, Collective kind) const {
    if ((mask & running_) != 0) return false;
    for (int lane = 0; lane < warp_size; ++lane)
      if (holds(mask, lane)) {
        if (lanes_[lane].mask != mask) return false;
        if (lanes_[lane].kind != kind) fail("lanes came to different collectives");
      }
    return true;
  }
  /// Returns what a collective makes of all values, where it does the same for each lane.
  std::uint64_t joined(Collective kind, unsigned mask) const {
    std::uint64_t of_all = kind == Collective::all ? 1 : 0;
    for (int lane = 0; lane < warp_size; ++lane) {
      if (!holds(mask, lane)) continue;
      const std::uint64_t value = lanes_[lane].value;
      if (kind == Collective::all) of_all &= value;
      if (kind == Collective::any) of_all |= value;
      if (kind == Collective::maximum) of_all = std::max(of_all, value);
    }
    return of_all;
  }
  std::uint64_t result_of(const Lane& own, std::uint64_t of_all) const {
    if (own.kind == Collective::shuffle) {
      if (!holds(own.mask, own.from)) fail("a lane asks for the value of one that does not take part");
      return lanes_[own.from].value;
    }
    if (own.kind != Collective::match) return of_all;
    std::uint64_t same = 0;
    for (int lane = 0; lane < warp_size; ++lane)
      if (holds(own.mask, lane) && lanes_[lane].value == own.value) same |= std::uint64_t{1} << lane;
    return same;
  }

  jmp_buf caller_;
  Lane lanes_[warp_size];
  const std::function<void(int)>* body_ = nullptr;
  std::minstd_rand random_{1};
  int stride_ = 1, current_ = 0;
  unsigned alive_ = 0;    ///< a bit for each lane that has not ended
  unsigned running_ = 0;  ///< .. and waits for no other
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

// These have CUDA's names and meanings.
template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width) {
  using namespace shardmark::kernels::emulated;
  Warp& warp = Warp::get();
  const int source = (warp.lane() & ~(width - 1)) | (from & (width - 1));
  return value_of<T>(warp.collective(Collective::shuffle, mask, bits_of(value), source));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits) {
  using namespace shardmark::kernels::emulated;
  Warp& warp = Warp::get();
  return value_of<T>(warp.collective(Collective::shuffle, mask, bits_of(value), warp.lane() ^ bits));
}
inline int __all_sync(unsigned mask, bool value) {
  using namespace shardmark::kernels::emulated;
  return static_cast<int>(Warp::get().collective(Collective::all, mask, value ? 1 : 0));
}
inline int __any_sync(unsigned mask, bool value) {
  using namespace shardmark::kernels::emulated;
  return static_cast<int>(Warp::get().collective(Collective::any, mask, value ? 1 : 0));
}
inline int __reduce_max_sync(unsigned mask, int value) {
  using namespace shardmark::kernels::emulated;
  const std::uint64_t ascending = static_cast<unsigned>(value) ^ 0x80000000U;  // as unsigned numbers
  return static_cast<int>(static_cast<unsigned>(Warp::get().collective(Collective::maximum, mask, ascending)) ^
                          0x80000000U);
}
inline unsigned __match_any_sync(unsigned mask, unsigned long long value) {
  using namespace shardmark::kernels::emulated;
  return static_cast<unsigned>(Warp::get().collective(Collective::match, mask, value));
}
inline void __syncwarp() {
  using namespace shardmark::kernels::emulated;
  Warp::get().collective(Collective::barrier, ~0U, 0);
}
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline int __ffs(int value) { return __builtin_ffs(value); }
