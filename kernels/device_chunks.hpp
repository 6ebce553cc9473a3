// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/array.hpp"

/// Stands before loops over arrays in registers, which nvcc must unroll.
#ifdef __CUDA_ARCH__
#define SHARDMARK_UNROLL _Pragma("unroll")
#else
#define SHARDMARK_UNROLL
#endif

namespace shardmark::kernels::device {

/// Holds Size values in a row, read or written at once: at a multiple of their size.
template <class T, int Size>
struct alignas(sizeof(T) * Size) Chunk {
  T at[Size];
};

template <int Size, class T>
KOKKOS_FORCEINLINE_FUNCTION Chunk<T, Size> load_chunk(const T* from) {
  return *reinterpret_cast<const Chunk<T, Size>*>(from);
}
template <int Size, class T>
KOKKOS_FORCEINLINE_FUNCTION void store_chunk(T* to, const Chunk<T, Size>& chunk) {
  *reinterpret_cast<Chunk<T, Size>*>(to) = chunk;
}

#ifdef __CUDA_ARCH__
namespace detail {
template <std::size_t bytes>
struct Word;
template <>
struct Word<16> : std::type_identity<uint4> {};
template <>
struct Word<8> : std::type_identity<uint2> {};
template <>
struct Word<4> : std::type_identity<unsigned int> {};
template <>
struct Word<2> : std::type_identity<unsigned short> {};
template <>
struct Word<1> : std::type_identity<unsigned char> {};
template <class T>
using WordOf = typename Word<sizeof(T)>::type;
}  // namespace detail
#endif

/// Loads a Value, at a multiple of its size, from global memory that no thread of the kernel writes.
template <class Value, class T>
KOKKOS_FORCEINLINE_FUNCTION Value load_read_only_as(const T* from) {
#ifdef __CUDA_ARCH__
  return Kokkos::bit_cast<Value>(__ldg(reinterpret_cast<const detail::WordOf<Value>*>(from)));
#else
  Value value;
  std::memcpy(&value, from, sizeof value);
  return value;
#endif
}
template <int Size, class T>
KOKKOS_FORCEINLINE_FUNCTION Chunk<T, Size> load_read_only(const T* from) {
  return load_read_only_as<Chunk<T, Size>>(from);
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T read_only(const T* from) {
  return load_read_only_as<T>(from);
}

/// Stores what the kernel reads no more, so that it leaves the caches first.
template <int Size, class T>
KOKKOS_FORCEINLINE_FUNCTION void store_streaming(T* to, const Chunk<T, Size>& chunk) {
#ifdef __CUDA_ARCH__
  using Word = detail::WordOf<Chunk<T, Size>>;
  __stcs(reinterpret_cast<Word*>(to), Kokkos::bit_cast<Word>(chunk));
#else
  store_chunk<Size>(to, chunk);
#endif
}

/// Stores a chunk by one instruction, where nvcc may cut store_global() into one for each value. No other access to
/// memory is moved past this one, which can take registers.
template <int Size, class T>
KOKKOS_FORCEINLINE_FUNCTION void store_at_once(T* to, const Chunk<T, Size>& chunk) {
#ifdef __CUDA_ARCH__
  using Word = detail::WordOf<Chunk<T, Size>>;
  if constexpr (Size > 1) return __stwb(reinterpret_cast<Word*>(to), Kokkos::bit_cast<Word>(chunk));
#endif
  store_chunk<Size>(to, chunk);
}

KOKKOS_FORCEINLINE_FUNCTION bool aligned(const void* address, std::int64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(bytes) == 0;
}

/// Reads Size values at once from global memory, where pointers that lie in memory are not known to point.
template <int Size, class T>
KOKKOS_FORCEINLINE_FUNCTION Chunk<T, Size> load_global(const T* from) {
#ifdef __CUDA_ARCH__
  __builtin_assume(__isGlobal(from));
#endif
  return load_chunk<Size>(from);
}
/// Writes Size values at once to global memory.
template <int Size, class T>
KOKKOS_FORCEINLINE_FUNCTION void store_global(T* to, const Chunk<T, Size>& chunk) {
#ifdef __CUDA_ARCH__
  using Word = detail::WordOf<Chunk<T, Size>>;
  __builtin_assume(__isGlobal(to));
  const Word word = Kokkos::bit_cast<Word>(chunk);
  *reinterpret_cast<Word*>(to) = word;
#else
  store_chunk<Size>(to, chunk);
#endif
}

/// Reads Size values at once that the kernel comes back to no more, so that other lines stay in the caches longer;
/// store_streaming() writes them.
template <int Size, class T>
KOKKOS_FORCEINLINE_FUNCTION Chunk<T, Size> load_once(const T* from) {
#ifdef __CUDA_ARCH__
  return Kokkos::bit_cast<Chunk<T, Size>>(__ldcs(reinterpret_cast<const detail::WordOf<Chunk<T, Size>>*>(from)));
#else
  return load_chunk<Size>(from);
#endif
}

/// Says whether a kernel comes back to what it reads or writes.
enum class Reuse { often, never };

/// Reads four columns, of which `count` exist; the others become 0. Nothing is done with them, which would wait for
/// them.
template <Reuse reuse = Reuse::often, class T>
KOKKOS_FORCEINLINE_FUNCTION Chunk<T, 4> read_four(const T* from, int count) {
  if (count >= 4 && aligned(from, sizeof(Chunk<T, 4>)))
    return reuse == Reuse::never ? load_once<4>(from) : load_global<4>(from);
  Chunk<T, 4> four{};
  SHARDMARK_UNROLL for (int i = 0; i < 4; ++i) {
    if (i < count) four.at[i] = load_global<1>(from + i).at[0];
  }
  return four;
}
/// Writes the first `count` of four columns.
template <Reuse reuse = Reuse::often, class T>
KOKKOS_FORCEINLINE_FUNCTION void write_four(T* to, const Chunk<T, 4>& four, int count) {
  if (count >= 4 && aligned(to, sizeof(four))) {
    if (reuse == Reuse::never)
      store_streaming<4>(to, four);
    else
      store_global<4>(to, four);
  } else {
    SHARDMARK_UNROLL for (int i = 0; i < 4; ++i) {
      if (i < count) store_global<1>(to + i, Chunk<T, 1>{{four.at[i]}});
    }
  }
}

}  // namespace shardmark::kernels::device
