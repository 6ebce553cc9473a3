// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device_warps.hpp"
#include "kernels/lookup/bag_divisor.hpp"
#include "kernels/lookup/bag_run.hpp"
#include "kernels/lookup/device_bag_divisor.hpp"
#include "kernels/lookup/pooled_lookup.hpp"
#include "kernels/lookup/stored_rows.hpp"

namespace shardmark::kernels::device {

/// Holds Size columns of a row as they are stored, in as few registers as that takes.
template <class T, int Size>
class StoredColumns {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t,
                                  std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>;
  using Word = std::conditional_t<Size == 1, Bits, std::uint32_t>;
  static constexpr int per_word = sizeof(Word) / sizeof(T);

 public:
  KOKKOS_FORCEINLINE_FUNCTION void load(const T* from) { words_ = load_read_only_as<decltype(words_)>(from); }
  KOKKOS_FORCEINLINE_FUNCTION T at(int i) const {
    return Kokkos::bit_cast<T>(static_cast<Bits>(words_.at[i / per_word] >> i % per_word * 8 * sizeof(T)));
  }

 private:
  Chunk<Word, Size / per_word> words_;
};

template <class Row, int Size>
struct RowChunk;

template <class T, int Size>
struct RowChunk<StoredRow<T>, Size> {
  StoredColumns<T, Size> stored;

  KOKKOS_FORCEINLINE_FUNCTION void load(const StoredRow<T>& row, std::int64_t column) {
    stored.load(row.values + column);
  }
  KOKKOS_FORCEINLINE_FUNCTION float value(int i) const { return to_float(stored.at(i)); }
};

template <int Size>
struct RowChunk<QuantizedRow, Size> {
  float scale, offset;
  StoredColumns<std::uint8_t, Size> stored;

  KOKKOS_FORCEINLINE_FUNCTION void load(const QuantizedRow& row, std::int64_t column) {
    scale = row.scale;
    offset = row.offset;
    stored.load(row.values + column);
  }
  KOKKOS_FORCEINLINE_FUNCTION float value(int i) const { return scale * static_cast<float>(stored.at(i)) + offset; }
};

/// Pools consecutive bags with a warp. A tile of it takes consecutive bags too, whose rows lie at consecutive positions
/// of the ids: whatever bags they belong to, rows_at_once of them are loaded before they are added, in order.
template <class Exec, class Index, bool Weighted>
struct PooledLookup {
  static constexpr std::int64_t most_bags = 32;  ///< a warp's, which it can hold the ends of
  static constexpr int rows_at_once = 4;
  using Bounds = Kokkos::LaunchBounds<256, 5>;

  ConstArray<Exec, LookupBlock> blocks;
  ConstArray<Exec, std::int64_t> offsets;
  ConstArray<Exec, Index> indices;
  ConstArray<Exec, float> weights;
  Array<Exec, float> output;
  std::int64_t bags_per_warp;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const int lane = static_cast<int>(i % warp_lanes);
    const std::int64_t bag = i / warp_lanes * bags_per_warp;
    const std::int64_t end = Kokkos::min(bag + bags_per_warp, static_cast<std::int64_t>(offsets.extent(0)) - 1);
    for_block_runs(
        blocks, bag, end, [](const LookupBlock& block) { return block.first_bag; },
        [&](const LookupBlock& block, std::int64_t first, std::int64_t stop) {
          with_row_type(block.value_type,
                        [&](auto row) { pool<typename decltype(row)::type>(lane, block, first, stop); });
          if (!divides(block.pooling)) return;
          // The lanes divide what they have stored where it lies, since divisions would take the registers of the loop.
          wait_for_lanes();
          divide_vectors<Exec>(
              lane,
              BagVectors{block.first_bag, block.bags, block.dim, block.output, block.output_stride, block.pooling},
              first, stop, offsets, weights, output);
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
    const auto dim = static_cast<int>(block.dim);
    const NumberedTile tile = tile_of(lane, (dim + Size - 1) / Size);
    const int share = tile.share(stop - first);
    const std::int64_t begin = Kokkos::min(first + tile.number * share, stop);
    const auto bags = static_cast<int>(Kokkos::min(std::int64_t{share}, stop - begin));
    const BagEnds ends(tile, offsets.data() + begin, bags);
    float* vector =
        output.data() + block.output + vectors_before(block, begin, ends.begin(), offsets) * block.output_stride;
    const TileOfBags<Row, Max, Size> run{tile,
                                         ends,
                                         block.pooling == Pooling::none,
                                         bags,
                                         static_cast<const char*>(block.rows),
                                         dim,
                                         static_cast<unsigned>(Row::bytes(dim)),
                                         indices.data() + ends.begin(),
                                         Weighted ? weights.data() + ends.begin() : nullptr,
                                         static_cast<int>(block.output_stride)};
    const bool single = all_lanes(run.each_id || ends.single(tile, bags));
    for (int column = tile.lane * Size; column - tile.lane * Size < dim; column += tile.lanes * Size) {
      if (single)
        run.copy(column, vector + column);
      else
        run.pool(column, vector + column);
    }
  }

  /// Pools Size columns of consecutive bags, one after the other.
  template <class Row, bool Max, int Size>
  struct TileOfBags {
    WarpTile tile;
    BagEnds ends;
    bool each_id;  ///< is a bag of its own
    int bags;
    const char* table;
    int dim;
    unsigned bytes;        ///< of a row
    const Index* ids;      ///< from the first bag on
    const float* weights;  ///< of them, read if Weighted
    int stride;            ///< of the vectors, in elements

    /// Stores the rows of ids that are bags of their own.
    KOKKOS_FORCEINLINE_FUNCTION void copy(int column, float* vector) const {
      const bool held = column < dim;
      const int longest = largest(ends.length());
      Window<Index> some_ids;
      Window<float> some_weights;
      for (int position = 0; position < longest; position += rows_at_once) {
        RowChunk<Row, Size> rows[rows_at_once];
        float weight[rows_at_once];
        load(position, held ? column : 0, some_ids, some_weights, rows, weight);
        for (int k = 0; k < rows_at_once; ++k) {
          Chunk<float, Size> one{};
          join(one, rows[k], weight[k], true);
          if (held && position + k < ends.length()) store_streaming<Size>(vector, one);
          vector += stride;
        }
      }
    }

    /// Pools bags of any lengths, one after the other.
    KOKKOS_FORCEINLINE_FUNCTION void pool(int column, float* vector) const {
      const bool held = column < dim;
      const auto end_of = [&](int number) { return ends.at(tile, number); };
      Chunk<float, Size> pooled{};
      int number = 0, begin = 0, end = end_of(0);
      const auto finish_before = [&](int position) {
        for (bool ended; any_lane(ended = number < bags && end <= position);) {
          if (ended) {
            if (held) store_streaming<Size>(vector, pooled);
            vector += stride;
            pooled = {};
            begin = end;
            ++number;
          }
          const int next = end_of(number);
          if (ended) end = next;
        }
      };

      const int longest = largest(ends.length());
      Window<Index> some_ids;
      Window<float> some_weights;
      for (int position = 0; position < longest; position += rows_at_once) {
        RowChunk<Row, Size> rows[rows_at_once];
        float weight[rows_at_once];
        load(position, held ? column : 0, some_ids, some_weights, rows, weight);
        if (all_lanes(number == bags || position + rows_at_once <= end)) {
          for (int k = 0; k < rows_at_once; ++k) join(pooled, rows[k], weight[k], position + k == begin);
        } else {
          for (int k = 0; k < rows_at_once; ++k) {
            finish_before(position + k);
            join(pooled, rows[k], weight[k], position + k == begin);
          }
        }
      }
      finish_before(ends.length());
    }

   private:
    /// Loads the rows of the ids from `position` on, with their weights; a window holds the next ids, as many as lanes.
    KOKKOS_FORCEINLINE_FUNCTION void load(int position, int column, Window<Index>& some_ids,
                                          Window<float>& some_weights, RowChunk<Row, Size> (&rows)[rows_at_once],
                                          float (&weight)[rows_at_once]) const {
      const int at = position & (tile.lanes - 1);
      if (at == 0) {
        some_ids.read(tile, ids + position, ends.length() - position);
        if constexpr (Weighted) some_weights.read(tile, weights + position, ends.length() - position);
      }
      for (int k = 0; k < rows_at_once; ++k) {
        rows[k].load(Row(row(some_ids.at(tile, at + k))), column);
        weight[k] = Weighted ? some_weights.at(tile, at + k) : 1.0F;
      }
    }
    /// Returns where a row begins. (Behind the last id, windows give row 0, which is loaded and never added.)
    KOKKOS_FORCEINLINE_FUNCTION const char* row(Index id) const {
      return table + static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<Index>>(id)) * bytes;
    }

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
  constexpr std::int64_t ids_per_warp = 96;
  const std::int64_t bags = static_cast<std::int64_t>(offsets.extent(0)) - 1;
  const std::int64_t ids = Kokkos::max(static_cast<std::int64_t>(indices.extent(0)), std::int64_t{1});
  // As many bags for each tile of a warp, if rows are as wide as the average; few, as the last warps work alone.
  const std::int64_t columns = static_cast<std::int64_t>(output.extent(0)) / Kokkos::max(bags, std::int64_t{1});
  const std::int64_t tiles = warp_lanes / std::max(4, tile_lanes((columns + 3) / 4));
  const std::int64_t wanted = Kokkos::clamp(ids_per_warp * bags / ids / tiles * tiles, tiles, Kernel::most_bags);
  const std::int64_t bags_per_warp = items_per_warp(exec, bags, wanted);
  for_lanes<typename Kernel::Bounds>("shardmark::pooled_lookup", exec, (bags + bags_per_warp - 1) / bags_per_warp,
                                     Kernel{blocks, offsets, indices, weights, output, bags_per_warp});
}

}  // namespace shardmark::kernels::device
