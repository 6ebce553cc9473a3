// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "kernels/array.hpp"
#include "kernels/mark.hpp"
#include "kernels/readers.hpp"
#include "kernels/row_setting.hpp"

namespace shardmark::kernels {

/// These are the ceilings that kernels are rated by: the fastest that the same rows can be moved when nothing else is
/// done. Each ceiling has a few settings; fastest_setting() tries them on the rows and keys at hand.

/// Returns the seconds of body(), from all work before it done to its own done.
template <class Exec, class Body>
double seconds(const Exec& exec, const Body& body) {
  exec.fence("shardmark::seconds: begin");
  const Kokkos::Timer timer;
  body();
  exec.fence("shardmark::seconds: end");
  return timer.seconds();
}
#ifdef KOKKOS_ENABLE_CUDA
/// Does the same by the device's own clock: the two fences would add 8 to 12 us, as long as a small kernel takes.
template <class Body>
double seconds(const Kokkos::Cuda& exec, const Body& body) {
  Mark<Kokkos::Cuda> begin, end;
  begin.set(exec);
  body();
  end.set(exec);
  return end.seconds_since(begin);
}
#endif

/// Describes rows back to back, as 32-bit words whatever their type.
struct WordRows {
  std::uint32_t* words = nullptr;
  std::int64_t row_words = 0;
};

inline constexpr std::array row_settings{
    RowSetting{24, 0, 4096},      RowSetting{32, 0, 4096},  RowSetting{48, 0, 4096},  RowSetting{16, 8, 4096},
    RowSetting{32, 8, 4096},      RowSetting{48, 8, 4096},  RowSetting{32, 4, 4096},  RowSetting{32, 8, 16384},
    RowSetting{48, 8, 16384},     RowSetting{32, 0, 16384}, RowSetting{64, 8, 16384}, RowSetting{16, 0, 4096, true},
    RowSetting{32, 0, 4096, true}};
inline constexpr std::int64_t smallest_grain = 4096;

/// This is the number of words that are added up in one register.
inline constexpr std::int64_t sum_words = 16;

/// Gathers random rows: adds up the rows of `keys`, in their order, in one register; all that is written is the sum of
/// each `grain` rows, to sink [(keys / smallest_grain + 1) * sum_words].
template <class Exec>
void gather_rows(const Exec& exec, const WordRows& rows, ConstArray<Exec, std::int64_t> keys, const RowSetting& setting,
                 Array<Exec, std::uint32_t> sink);

/// Reads, modifies and writes random rows: adds `add`, which is to be 0, to every word of the rows of `keys` and of the
/// state beside them (row_words 0: none). `keys` must be distinct.
template <class Exec>
void modify_rows(const Exec& exec, const WordRows& rows, const WordRows& state, ConstArray<Exec, std::int64_t> keys,
                 const RowSetting& setting, std::uint32_t add);

/// Returns the setting for which run(setting) takes the shortest time, the best of `rounds` calls each. Settings say
/// how far ahead a processor prefetches: a device, which does not, takes the first.
template <class Exec, class Run>
RowSetting fastest_setting(const Exec& exec, int rounds, const Run& run) {
  if (on_device<Exec>) return row_settings.front();
  std::array<double, row_settings.size()> best;
  best.fill(std::numeric_limits<double>::infinity());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t s = 0; s < row_settings.size(); ++s)
      best[s] = std::min(best[s], seconds(exec, [&] { run(row_settings[s]); }));
  return row_settings[std::min_element(best.begin(), best.end()) - best.begin()];
}

/// Copies a stream: whole cache lines past the caches where the output is large. readers: of `to`.
template <class Exec>
void stream_copy(const Exec& exec, ConstArray<Exec, float> from, const Array<Exec, float>& to,
                 Readers readers = Readers::near);

/// Computes the streaming triad of McCalpin's STREAM, a[i] = b[i] + factor c[i]: 12 bytes per element, not counting
/// that a's lines are read before they are written.
template <class Exec>
void triad(const Exec& exec, Array<Exec, float> a, ConstArray<Exec, float> b, ConstArray<Exec, float> c, float factor);

inline constexpr std::int64_t triad_bytes_per_element = 12;

/// Returns the matrices that multiply_in_caches works with.
template <class Exec>
Array<Exec, float> cached_matrices(const Exec& exec);

/// Runs the most floating point operations: about `flops` of them (a multiply-add is two) by all threads. On a host
/// they are products by small_gemm of matrices in the nearest cache, on a device chains of multiply-adds in registers.
/// Returns how many they are.
template <class Exec>
std::int64_t multiply_in_caches(const Exec& exec, std::int64_t flops, Array<Exec, float> matrices);

}  // namespace shardmark::kernels
