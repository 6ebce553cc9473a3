// SPDX-License-Identifier: Apache-2.0
#pragma once

// The warps of the emulated device: the lanes of a warp are stacks of their own that take turns in a random order
// wherever they have to wait for each other. What lanes do not agree on ends the program: one that comes to another
// collective, with other lanes or to none, and one that asks for the value of a lane that does not take part. What this
// does not show: here lanes that have come to any collective see what each other wrote, on a device only behind
// __syncwarp().
#include <algorithm>
#include <cstring>
#include <random>

#include "kernels/test/emulated/fibers.hpp"

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
  template <class Body>
  void run(const Body& body) {
    alive_ = running_ = ~0U;
    stride_ = static_cast<int>(random_() % (warp_size / 2)) * 2 + 1;
    fibers_.run(static_cast<int>(random_() % warp_size), [&](int lane) {
      body(lane);
      alive_ &= ~(1U << lane);
      running_ &= ~(1U << lane);
      return alive_ == 0 ? Fibers::none : next();
    });
  }
  int lane() const { return fibers_.current(); }

  /// Waits until the lanes with a bit in `mask`, this one among them, have come to the same, each with a value of its
  /// own. Returns what the collective makes of them; that of a shuffle is the value of lane `from`.
  std::uint64_t collective(Collective kind, unsigned mask, std::uint64_t value, int from = 0) {
    Lane& own = lanes_[lane()];
    own.kind = kind;
    own.mask = mask;
    own.value = value;
    own.from = from;
    if (!holds(mask, lane())) fail("a lane is none of those that it waits for");
    if ((mask & ~alive_) != 0) fail("a lane waits for others that have ended");
    running_ &= ~(1U << lane());
    if (have_come(mask, kind)) {
      const std::uint64_t of_all = joined(kind, mask);
      for (int of = 0; of < warp_size; ++of)
        if (holds(mask, of)) lanes_[of].result = result_of(lanes_[of], of_all);
      running_ |= mask;
    } else {
      fibers_.go_on_with(next());
    }
    return own.result;
  }

 private:
  struct Lane {
    Collective kind = Collective::barrier;  ///< that it waits for, with the arguments and the result
    unsigned mask = 0;
    int from = 0;
    std::uint64_t value = 0, result = 0;
  };

  static bool holds(unsigned mask, int lane) { return (mask >> lane & 1) != 0; }
  /// Returns the lane that goes on when this one waits or ends.
  int next() const {
    for (int k = 1; k < warp_size; ++k)
      if (const int lane = (fibers_.current() + k * stride_) % warp_size; holds(running_, lane)) return lane;
    fail("lanes wait for others that have ended, or wait elsewhere");
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

  Fibers fibers_;
  Lane lanes_[warp_size];
  std::minstd_rand random_{1};
  int stride_ = 1;
  unsigned alive_ = 0;    ///< a bit for each lane that has not ended
  unsigned running_ = 0;  ///< .. and waits for no other
};

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
