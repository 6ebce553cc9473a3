// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "kernels/array.hpp"
#include "kernels/lookup/column_blocks.hpp"
#include "kernels/simd/groups.hpp"

namespace shardmark::kernels {

// These are products of matrices so small that a library's preparations would take longer than the product: C = A B or
// C += A B with C [m][n], A [m][k], B [k][n]. Each element of C is one chain of fused multiply-adds over k ascending,
// from 0 or from what C holds, so that its bits depend on no blocking, no number of threads and no processor.

struct GemmSize {
  std::int64_t m, n, k;
};

/// Describes the left factor A: element (i, j) is data[i * row + j * column]: {data, k, 1} for [m][k] by rows, {data,
/// 1, m} for the transpose of [k][m] by rows. T: float, Fp16 or Bf16.
template <class T>
struct GemmLeft {
  const T* data;
  std::int64_t row, column;
};

/// Describes a matrix by rows: element (i, j) is data[i * row + j]. T: const float, const Fp16 or const Bf16 for B,
/// float for C.
template <class T>
struct GemmRows {
  T* data;
  std::int64_t row;
};

enum class GemmStart { zero, c };  ///< what the chains begin with

namespace host {

/// Computes `Rows` rows of C and as many columns as Width, all of them in registers.
template <int Rows, class Width, class A, class B>
KOKKOS_FORCEINLINE_FUNCTION void gemm_tile(Width width, std::int64_t depth, GemmLeft<A> a, GemmRows<const B> b,
                                           GemmRows<float> c, GemmStart start) {
  constexpr std::int64_t lanes = (Width::capacity + simd_width - 1) / simd_width;
  const auto count = [&](std::int64_t l) { return width - l * simd_width; };
  Simd sum[Rows][lanes];
  for (int i = 0; i < Rows; ++i)
    for (std::int64_t l = 0; l < lanes; ++l)
      sum[i][l] = start == GemmStart::zero ? Simd(0.0F) : load_simd(c.data + i * c.row + l * simd_width, count(l));
  for (std::int64_t k = 0; k < depth; ++k, a.data += a.column, b.data += b.row) {
    Simd row[lanes];
    for (std::int64_t l = 0; l < lanes; ++l) row[l] = in_register(load_simd(b.data + l * simd_width, count(l)));
    for (int i = 0; i < Rows; ++i) {
      const Simd factor = to_float(a.data[i * a.row]);
      for (std::int64_t l = 0; l < lanes; ++l) sum[i][l] = fused(factor, row[l], sum[i][l]);
    }
  }
  for (int i = 0; i < Rows; ++i)
    for (std::int64_t l = 0; l < lanes; ++l) store_simd(c.data + i * c.row + l * simd_width, sum[i][l], count(l));
}

/// Computes the rows from `first` on: by as many tiles of Rows as fit, then of half of them, and so on.
template <int Rows, class Width, class A, class B>
KOKKOS_FORCEINLINE_FUNCTION void gemm_column_block(Width width, const GemmSize& size, const GemmLeft<A>& a,
                                                   const GemmRows<const B>& b, const GemmRows<float>& c,
                                                   GemmStart start, std::int64_t first = 0) {
  for (; first + Rows <= size.m; first += Rows)
    gemm_tile<Rows>(width, size.k, GemmLeft<A>{a.data + first * a.row, a.row, a.column}, b,
                    GemmRows<float>{c.data + first * c.row, c.row}, start);
  if constexpr (Rows > 1) gemm_column_block<Rows / 2>(width, size, a, b, c, start, first);
}

/// Computes Groups * 16 / Width rows of C, which has Width (4 or 8) columns: each Simd holds several rows. The rows of
/// A are read four numbers at a time (depth >= 4, the last four again for what a multiple of four leaves).
template <int Groups, int Width>
KOKKOS_FORCEINLINE_FUNCTION void narrow_gemm_tile(std::int64_t depth, const GemmLeft<float>& a,
                                                  const GemmRows<const float>& b, const GemmRows<float>& c,
                                                  GemmStart start) {
  constexpr std::int64_t rows = simd_width / Width;
  Simd sum[Groups], fours[Groups];
  for (int g = 0; g < Groups; ++g)
    sum[g] = start == GemmStart::zero ? Simd(0.0F) : load_groups<Width>(c.data + g * rows * c.row, c.row);
  const auto add_fours = [&](const float* from, const float* row, int first) {
    for (int g = 0; g < Groups; ++g) fours[g] = load_fours<Width>(from + g * rows * a.row, a.row);
    const auto add = [&](auto place) {
      if (first > place) return;
      const Simd repeated = load_repeated<Width>(row + place * b.row);
      for (int g = 0; g < Groups; ++g) sum[g] = fused(spread_in_fours<place>(fours[g]), repeated, sum[g]);
    };
    add(std::integral_constant<int, 0>{});
    add(std::integral_constant<int, 1>{});
    add(std::integral_constant<int, 2>{});
    add(std::integral_constant<int, 3>{});
  };
  const std::int64_t whole = depth / 4 * 4;
  const float *from = a.data, *row = b.data;
  for (const float* const end = from + whole; from < end; from += 4, row += 4 * b.row) add_fours(from, row, 0);
  if (whole < depth) add_fours(a.data + depth - 4, b.data + (depth - 4) * b.row, static_cast<int>(whole - (depth - 4)));
  for (int g = 0; g < Groups; ++g) store_groups<Width>(c.data + g * rows * c.row, c.row, sum[g]);
}

/// Computes rows by tiles of Groups Simd, of half as many, and so on; returns the first row that is left.
template <int Groups, int Width>
KOKKOS_FORCEINLINE_FUNCTION std::int64_t narrow_gemm(const GemmSize& size, const GemmLeft<float>& a,
                                                     const GemmRows<const float>& b, const GemmRows<float>& c,
                                                     GemmStart start, std::int64_t first = 0) {
  constexpr std::int64_t rows = Groups * simd_width / Width;
  for (; first + rows <= size.m; first += rows)
    narrow_gemm_tile<Groups, Width>(size.k, GemmLeft<float>{a.data + first * a.row, a.row, a.column}, b,
                                    GemmRows<float>{c.data + first * c.row, c.row}, start);
  if constexpr (Groups > 1)
    return narrow_gemm<Groups / 2, Width>(size, a, b, c, start, first);
  else
    return first;
}

/// Computes the product by one thread. Tiles have 8 to 16 registers of sums: a fused multiply-add takes some four
/// cycles, and two begin in each.
template <class A, class B>
KOKKOS_FUNCTION void small_gemm(const GemmSize& size, const GemmLeft<A>& a, const GemmRows<const B>& b,
                                const GemmRows<float>& c, GemmStart start) {
  std::int64_t first = 0;
  if constexpr (std::is_same_v<A, float> && std::is_same_v<B, float>) {
    constexpr int groups = many_registers ? 4 : 2;
    if (a.column == 1 && size.k >= 4 && size.n == 4) first = narrow_gemm<groups, 4>(size, a, b, c, start);
    if (a.column == 1 && size.k >= 4 && size.n == 8) first = narrow_gemm<groups, 8>(size, a, b, c, start);
  }
  const auto block = [&](std::int64_t column, auto width) {
    constexpr int rows = many_registers && decltype(width)::capacity < 64 ? 8 : 4;
    gemm_column_block<rows>(width, size, a, GemmRows<const B>{b.data + column, b.row},
                            GemmRows<float>{c.data + column, c.row}, start, first);
  };
  if constexpr (many_registers)
    for_blocks<64, 32, 16>(size.n, block);
  else
    for_blocks<16>(size.n, block);
}

}  // namespace host

namespace device {

/// Computes the product by the threads of a team and their vector lanes, an element of C each.
template <class Member, class A, class B>
KOKKOS_FUNCTION void small_gemm(const Member& team, const GemmSize& size, const GemmLeft<A>& a,
                                const GemmRows<const B>& b, const GemmRows<float>& c, GemmStart start) {
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, size.m * size.n), [&](const std::int64_t element) {
    const std::int64_t i = element / size.n, j = element % size.n;
    float* const out = c.data + i * c.row + j;
    float sum = start == GemmStart::zero ? 0.0F : *out;
    for (std::int64_t k = 0; k < size.k; ++k)
      sum = fused(to_float(a.data[i * a.row + k * a.column]), to_float(b.data[k * b.row + j]), sum);
    *out = sum;
  });
}

}  // namespace device

/// Computes the product by a team: the whole team calls it, with the same arguments; on a device, other threads of the
/// team may read C behind a team_barrier(). On a host each thread that calls it does all of the work. C overlaps
/// neither A nor B.
template <class Member, class A, class B>
KOKKOS_FORCEINLINE_FUNCTION void small_gemm([[maybe_unused]] const Member& team, const GemmSize& size,
                                            const GemmLeft<A>& a, const GemmRows<const B>& b, const GemmRows<float>& c,
                                            GemmStart start) {
  if constexpr (on_device<typename Member::execution_space>)
    device::small_gemm(team, size, a, b, c, start);
  else
    host::small_gemm(size, a, b, c, start);
}

}  // namespace shardmark::kernels
