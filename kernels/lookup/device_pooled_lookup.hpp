// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device_warps.hpp"
#include "kernels/lookup/bag_divisor.hpp"
#include "kernels/lookup/bag_run.hpp"
#include "kernels/lookup/device_bag_divisor.hpp"
#include "kernels/lookup/pooled_lookup.hpp"
#include "kernels/lookup/stored_rows.hpp"

namespace shardmark::kernels::device {

/// Holds Size columns of a row as they are stored.
template <class Row, int Size>
struct RowChunk;

template <class T, int Size>
struct RowChunk<StoredRow<T>, Size> {
  Chunk<T, Size> stored;

  KOKKOS_FORCEINLINE_FUNCTION void load(const StoredRow<T>& row, std::int64_t column) {
    stored = load_read_only<Size>(row.values + column);
  }
  KOKKOS_FORCEINLINE_FUNCTION float value(int i) const { return to_float(stored.at[i]); }
};

template <int Size>
struct RowChunk<QuantizedRow, Size> {
  float scale, offset;
  Chunk<std::uint8_t, Size> stored;

  KOKKOS_FORCEINLINE_FUNCTION void load(const QuantizedRow& row, std::int64_t column) {
    scale = row.scale;
    offset = row.offset;
    stored = load_read_only<Size>(row.values + column);
  }
  KOKKOS_FORCEINLINE_FUNCTION float value(int i) const { return scale * static_cast<float>(stored.at[i]) + offset; }
};

/// Pools consecutive bags with a warp. A tile of it takes consecutive bags too, whose rows lie at consecutive positions
/// of the ids: whatever bags they belong to, rows_at_once of them are loaded before they are added, in order.
template <class Exec, class Index, bool Weighted>
struct PooledLookup {
  static constexpr std::int64_t most_bags = 32;  ///< a warp's, which it can hold the ends of
  static constexpr int rows_at_once = 4;
  using Bounds = Kokkos::LaunchBounds<256, 6>;

  ConstArray<Exec, LookupBlock> blocks;
  ConstArray<Exec, std::int64_t> offsets;
  ConstArray<Exec, Index> indices;
  ConstArray<Exec, float> weights;
  Array<Exec, float> output;
  std::int64_t bags_per_warp;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const int lane = static_cast<int>(i % warp_lanes<Exec>);
    const std::int64_t bag = i / warp_lanes<Exec> * bags_per_warp;
    const std::int64_t end = Kokkos::min(bag + bags_per_warp, static_cast<std::int64_t>(offsets.extent(0)) - 1);
    for_block_runs(
        blocks, bag, end, [](const LookupBlock& block) { return block.first_bag; },
        [&](const LookupBlock& block, std::int64_t first, std::int64_t stop) {
          with_row_type(block.value_type,
                        [&](auto row) { pool<typename decltype(row)::type>(lane, block, first, stop); });
        });
  }

 private:
  template <class Row>
  KOKKOS_FORCEINLINE_FUNCTION void pool(int lane, const LookupBlock& block, std::int64_t first,
                                        std::int64_t stop) const {
    constexpr std::int64_t value_bytes = sizeof(*Row::values);
    const bool fours = block.dim % 4 == 0 && block.output_stride % 4 == 0 && aligned(block.rows, 4 * value_bytes) &&
                       aligned(output.data() + block.output, 4 * sizeof(float));
    if (fours && block.pooling != Pooling::max)
      pool_columns<Row, false, 4>(lane, block, first, stop);
    else if (fours)
      pool_columns<Row, true, 4>(lane, block, first, stop);
    else if (block.pooling != Pooling::max)
      pool_columns<Row, false, 1>(lane, block, first, stop);
    else
      pool_columns<Row, true, 1>(lane, block, first, stop);
  }

  /// Pools bags [first, stop) by Size columns a lane.
  template <class Row, bool Max, int Size>
  KOKKOS_FORCEINLINE_FUNCTION void pool_columns(int lane, const LookupBlock& block, std::int64_t first,
                                                std::int64_t stop) const {
    const Tile tile = tile_of<Exec>(lane, (block.dim + Size - 1) / Size);
    const int share = tile.share(stop - first);
    const std::int64_t begin = Kokkos::min(first + tile.number * share, stop);
    const auto bags = static_cast<int>(Kokkos::min(std::int64_t{share}, stop - begin));
    const BagEnds<Exec> ends(tile, offsets.data() + begin, bags);
    float* vector = output.data() + block.output +
                    vectors_before(block, begin, ends.begin(), offsets) * block.output_stride + tile.lane * Size;
    for (std::int64_t column = 0; column < block.dim; column += tile.lanes() * Size)
      TileOfBags<Row, Max, Size>{*this, block, tile, ends, bags, column + tile.lane * Size}.pool(vector + column);
  }

  /// Pools the same columns of consecutive bags, one after the other.
  template <class Row, bool Max, int Size>
  struct TileOfBags {
    const PooledLookup& lookup;
    const LookupBlock& block;
    const Tile& tile;
    const BagEnds<Exec>& ends;
    int bags;
    std::int64_t column;

    KOKKOS_FORCEINLINE_FUNCTION void pool(float* vector) const {
      const bool each_id = block.pooling == Pooling::none;  // every id is a bag of its own
      const bool held = column < block.dim;
      const Index* ids = lookup.indices.data() + ends.begin();
      const float* weights = Weighted ? lookup.weights.data() + ends.begin() : nullptr;
      const int vectors = each_id ? ends.length() : bags;
      const auto end_of = [&](int number) { return each_id ? number + 1 : ends.at(tile, number); };
      Chunk<float, Size> pooled{};
      int number = 0, begin = 0, end = end_of(0);
      const auto finish = [&] {
        if constexpr (!Max)
          if (divides(block.pooling)) divide(pooled, bag_divisor(block.pooling, weights, begin, end));
        if (held) store_streaming<Size>(vector, pooled);
        vector += block.output_stride;
        pooled = {};
        begin = end;
        ++number;
      };
      const auto bytes = static_cast<int>(Row::bytes(block.dim));
      const int longest = largest(ends.length());
      RowChunk<Row, Size> rows[rows_at_once];
      Window<Exec, Index> some_ids;
      Window<Exec, float> some_weights;
      const int capacity = some_ids.capacity(tile);
      for (int position = 0;;) {
        for (bool ended; any_lane(ended = number < vectors && end <= position);) {
          if (ended) finish();
          const int next = end_of(number);
          if (ended) end = next;
        }
        if (position >= longest) break;
        const int at = position & (capacity - 1);
        if (at == 0) {
          some_ids.read(tile, ids + position, ends.length() - position);
          if constexpr (Weighted) some_weights.read(tile, weights + position, ends.length() - position);
        }
        const auto weight = [&](int k) { return Weighted ? some_weights.at(tile, at + k) : 1.0F; };
        const bool first_of_rows = at % rows_at_once == 0;
        if (first_of_rows)
          for (int k = 0; k < rows_at_once; ++k) {
            const auto id = static_cast<std::int64_t>(some_ids.at(tile, at + k));
            rows[k] = {};
            if (held && position + k < ends.length())
              rows[k].load(Row(static_cast<const char*>(block.rows) + id * bytes), column);
          }
        if (first_of_rows && all_lanes(number == vectors || position + rows_at_once <= end)) {
          for (int k = 0; k < rows_at_once; ++k) join(pooled, rows[k], weight(k), position + k == begin);
          position += rows_at_once;
        } else {
          join(pooled, rows[0], weight(0), position == begin);
          for (int k = 1; k < rows_at_once; ++k) rows[k - 1] = rows[k];
          ++position;
        }
      }
    }

   private:
    KOKKOS_FORCEINLINE_FUNCTION static void join(Chunk<float, Size>& pooled, const RowChunk<Row, Size>& row,
                                                 float weight, bool first) {
      for (int i = 0; i < Size; ++i) {
        const float product = Weighted ? weight * row.value(i) : row.value(i);
        if constexpr (Max)
          pooled.at[i] = first || pooled.at[i] < product ? product : pooled.at[i];
        else
          pooled.at[i] += product;
      }
    }
  };
};

/// Pools all bags of a launch.
template <class Exec, class Index, bool Weighted>
void pool(const Exec& exec, ConstArray<Exec, LookupBlock> blocks, ConstArray<Exec, std::int64_t> offsets,
          ConstArray<Exec, Index> indices, ConstArray<Exec, float> weights, const Array<Exec, float>& output) {
  using Kernel = PooledLookup<Exec, Index, Weighted>;
  constexpr std::int64_t tiles = 8, ids_per_warp = 64;
  const std::int64_t bags = static_cast<std::int64_t>(offsets.extent(0)) - 1;
  const std::int64_t ids = Kokkos::max(static_cast<std::int64_t>(indices.extent(0)), std::int64_t{1});
  const std::int64_t bags_per_warp =
      items_per_warp(exec, bags, Kokkos::clamp(ids_per_warp * bags / ids, tiles, Kernel::most_bags));
  for_lanes<typename Kernel::Bounds>("shardmark::pooled_lookup", exec, (bags + bags_per_warp - 1) / bags_per_warp,
                                     Kernel{blocks, offsets, indices, weights, output, bags_per_warp});
}

}  // namespace shardmark::kernels::device
