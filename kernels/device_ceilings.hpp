// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/ceilings.hpp"
#include "kernels/device_warps.hpp"

namespace shardmark::kernels::device {

/// A tile takes this many keys, whose rows are all asked for before any of them is used.
inline constexpr int keys_at_once = 8;

/// Returns how many lanes share a row: each reads Size words of it at a time.
template <int Size>
int row_lanes(const WordRows& rows) {
  return std::max(4, tile_lanes((rows.row_words + Size - 1) / Size));
}

/// Calls body(key number, lane's first word) for the keys of a tile, chunks of Size words apart, in blocks of
/// keys_at_once keys: first `load` for all of them, then `use`.
template <int Size, class Load, class Use>
KOKKOS_FORCEINLINE_FUNCTION void for_keys(const WarpTile& tile, std::int64_t number, std::int64_t keys,
                                          std::int64_t row_words, const Load& load, const Use& use) {
  const std::int64_t first = number * keys_at_once;
  const auto count = static_cast<int>(Kokkos::min<std::int64_t>(keys - first, keys_at_once));
  for (std::int64_t word = tile.lane * Size; word < row_words; word += tile.lanes * Size) {
    Chunk<std::uint32_t, Size> chunks[keys_at_once];
    SHARDMARK_UNROLL for (int k = 0; k < keys_at_once; ++k) if (k < count) chunks[k] = load(first + k, word);
    SHARDMARK_UNROLL for (int k = 0; k < keys_at_once; ++k) if (k < count) use(first + k, word, chunks[k]);
  }
}

/// Gathers rows, Size words at a time.
template <class Exec, int Size>
struct GatherRows {
  WordRows rows;
  ConstArray<Exec, std::int64_t> keys;
  Array<Exec, std::uint32_t> sink;

  KOKKOS_FUNCTION void operator()(const WarpTile& tile, std::int64_t number, std::int64_t) const {
    std::uint32_t sum = 0;
    for_keys<Size>(
        tile, number, static_cast<std::int64_t>(keys.extent(0)), rows.row_words,
        [&](std::int64_t i, std::int64_t word) {
          return load_read_only<Size>(rows.words + keys(i) * rows.row_words + word);
        },
        [&](std::int64_t, std::int64_t, const Chunk<std::uint32_t, Size>& words) {
          for (int w = 0; w < Size; ++w) sum ^= words.at[w];
        });
    if (sum == 0x9e3779b9U) sink(0) = sum;  // hardly ever, but the compiler cannot know
  }
};

template <class Exec, int Size>
struct ModifyRows {
  WordRows rows;
  ConstArray<Exec, std::int64_t> keys;
  std::uint32_t add;

  KOKKOS_FUNCTION void operator()(const WarpTile& tile, std::int64_t number, std::int64_t) const {
    const auto at = [&](std::int64_t i, std::int64_t word) { return rows.words + keys(i) * rows.row_words + word; };
    for_keys<Size>(
        tile, number, static_cast<std::int64_t>(keys.extent(0)), rows.row_words,
        [&](std::int64_t i, std::int64_t word) { return load_global<Size>(at(i, word)); },
        [&](std::int64_t i, std::int64_t word, Chunk<std::uint32_t, Size> words) {
          for (int w = 0; w < Size; ++w) words.at[w] += add;
          store_at_once<Size>(at(i, word), words);
        });
  }
};

/// Calls body(integral constant of Size): four words at a time where rows are made of as many, else one.
template <class Body>
void with_words_at_once(const WordRows& rows, const Body& body) {
  if (rows.row_words % 4 == 0 && aligned(rows.words, 16))
    body(std::integral_constant<int, 4>{});
  else
    body(std::integral_constant<int, 1>{});
}

/// Launches make(words at once) over tiles that take all of `keys`.
template <class Exec, class Make>
void launch_on_keys(const char* label, const Exec& exec, const WordRows& rows, std::int64_t keys, const Make& make) {
  with_words_at_once(rows, [&](auto size) {
    // Single words take 40 registers a lane, which six teams have; nvcc would take more.
    using Bounds = std::conditional_t<size == 1, Kokkos::LaunchBounds<team_lanes, 6>, Kokkos::LaunchBounds<>>;
    for_tiles<Bounds>(label, exec, (keys + keys_at_once - 1) / keys_at_once, row_lanes<size>(rows), make(size));
  });
}

template <class Exec>
void gather_rows(const Exec& exec, const WordRows& rows, const ConstArray<Exec, std::int64_t>& keys,
                 const Array<Exec, std::uint32_t>& sink) {
  launch_on_keys("shardmark::gather_rows", exec, rows, static_cast<std::int64_t>(keys.extent(0)), [&](auto size) {
    return GatherRows<Exec, size>{rows, keys, sink};
  });
}

template <class Exec>
void modify_rows(const Exec& exec, const WordRows& rows, const ConstArray<Exec, std::int64_t>& keys,
                 std::uint32_t add) {
  if (rows.row_words == 0) return;
  launch_on_keys("shardmark::modify_rows", exec, rows, static_cast<std::int64_t>(keys.extent(0)), [&](auto size) {
    return ModifyRows<Exec, size>{rows, keys, add};
  });
}

/// Copies four floats by a thread, past the caches.
template <class Exec>
void stream_copy(const Exec& exec, const ConstArray<Exec, float>& from, const Array<Exec, float>& to) {
  const auto size = static_cast<std::int64_t>(to.extent(0));
  Kokkos::parallel_for(
      "shardmark::stream_copy", static_range(exec, (size + 3) / 4), KOKKOS_LAMBDA(const std::int64_t i) {
        if (4 * i + 4 <= size)
          store_streaming<4>(to.data() + 4 * i, load_read_only<4>(from.data() + 4 * i));
        else
          for (std::int64_t j = 4 * i; j < size; ++j) to(j) = from(j);
      });
}

}  // namespace shardmark::kernels::device
