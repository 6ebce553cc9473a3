// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "kernels/device_warps.hpp"
#include "kernels/sort/balanced_ranges.hpp"
#include "kernels/update/row_gradients.hpp"

namespace shardmark::kernels::device {

/// Rows with more positions than this are summed before all others, each piece of hot_row_piece positions by lanes of
/// its own.
inline constexpr std::int64_t long_row = 64;

/// Numbers the pieces of long rows among n sorted positions: at most one first piece of a row begins in every long_row
/// positions, and at most one later piece in every hot_row_piece.
struct PieceNumbers {
  std::int64_t later;  ///< of the first numbers, which later pieces have
  std::int64_t count;

  explicit PieceNumbers(std::int64_t n)
      : later((n + hot_row_piece - 1) / hot_row_piece), count(later + (n + long_row - 1) / long_row) {}

  /// Returns the number of the piece that begins at position `at`.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t number(std::int64_t at, bool first) const {
    return first ? later + at / long_row : at / hot_row_piece;
  }
};

/// Holds RowGradients as the kernels read them: by pointers, which are few bytes of arguments, with the sums of the
/// pieces of long rows. RadixPlan sees to it that there are fewer than 2^32 positions.
struct RowSource {
  const std::uint64_t* words;
  const std::int64_t *segments, *total;
  const std::int64_t* gradient_offset;  ///< null where a position is the offset
  const float* weights;                 ///< null when every weight is 1
  const float* gradients;
  std::int64_t most_positions;
  int position_bits;
  PieceNumbers numbers;
  float* piece_sums;  ///< [numbers.count, stride]
  std::int64_t stride;

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t key_of(std::uint64_t word) const {
    return static_cast<std::int64_t>(word >> position_bits);
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t position_of(std::uint64_t word) const {
    return static_cast<std::int64_t>(word & ((std::uint64_t{1} << position_bits) - 1));
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t key_at(std::int64_t i) const { return key_of(words[i]); }

  KOKKOS_FORCEINLINE_FUNCTION const float* vector(std::int64_t place) const {
    return gradients + (gradient_offset == nullptr ? place : gradient_offset[place]);
  }
  /// Returns the sum of piece i of the long row that begins at position `begin`; in the end that of piece 0 is the sum
  /// of all.
  KOKKOS_FORCEINLINE_FUNCTION float* piece_sum(std::uint32_t begin, int i) const {
    return piece_sums + std::int64_t{number(begin, i)} * stride;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t number(std::uint32_t begin, int i) const {
    return static_cast<std::uint32_t>(numbers.number(begin + i * hot_row_piece, i == 0));
  }
};

/// Holds consecutive shards, and the keys [first_key, end_key) of their rows.
template <class Shard>
struct ShardRange {
  static constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();

  const Shard* shards;
  std::int64_t count;
  std::int64_t first_key = 0, end_key = no_end;

  /// Returns the last shard that begins at or before `key`; a single one is not read for that.
  KOKKOS_FORCEINLINE_FUNCTION const Shard& of(std::int64_t key) const {
    int shard = 0;
    for (int size = static_cast<int>(count); size > 1;) {
      const int half = size / 2;
      const bool behind = shards[shard + half].first_key <= key;
      shard += behind ? half : 0;
      size = behind ? size - half : half;
    }
    return shards[shard];
  }
};

/// Lists what there is to sum before all rows, in any order. Its counters are 0 before the list is made.
struct LongPieces {
  LongPiece* pieces;
  LongPiece* rows;          ///< those rows that have more than one
  std::uint32_t* counters;  ///< of the pieces, of the rows, and of those of each that warps have claimed

  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t& count(bool several) const { return counters[several ? 1 : 0]; }
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t& claimed(bool several) const { return counters[several ? 3 : 2]; }
};

/// Finds the long rows, a lane for each row, and lists their pieces, a lane for each piece.
template <class Shard>
struct ListLongRows {
  using Bounds = Kokkos::LaunchBounds<team_lanes, 4>;

  RowSource source;
  ShardRange<Shard> shards;
  LongPieces list;
  std::int64_t warps;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const WarpTile warp = whole_warp(static_cast<int>(i % warp_lanes));
    const std::int64_t rows = *source.total;
    for (std::int64_t first = i / warp_lanes * warp_lanes; first < rows; first += warps * warp_lanes) {
      const std::int64_t u = Kokkos::min(first + warp.lane, rows - 1);
      const auto begin = static_cast<std::uint32_t>(read_only(source.segments + u));
      const auto end = static_cast<std::uint32_t>(read_only(source.segments + u + 1));
      const bool is_long = first + warp.lane < rows && end - begin > long_row;
      if (!any_lane(is_long)) continue;
      const int dim = is_long ? static_cast<int>(shards.of(source.key_at(begin)).dim) : 0;
      const int pieces = is_long ? static_cast<int>((end - begin + hot_row_piece - 1) / hot_row_piece) : 0;
      // Lane l takes places behind those of the lanes before it.
      const int behind = warp.sum_until(pieces), all = warp.from_lane(behind, warp_lanes - 1);
      std::uint32_t place =
          warp.lane == 0 ? Kokkos::atomic_fetch_add(&list.count(false), static_cast<std::uint32_t>(all)) : 0;
      place = warp.from_lane(place, 0) + static_cast<std::uint32_t>(behind - pieces);
      if (pieces > 1)
        list.rows[Kokkos::atomic_fetch_add(&list.count(true), 1U)] = {begin, end, source.number(begin, 0), dim};
      for (int from = 0; from < warp_lanes; ++from) {
        const int count = warp.from_lane(pieces, from);
        if (count == 0) continue;
        const std::uint32_t row_begin = warp.from_lane(begin, from), row_end = warp.from_lane(end, from);
        const std::uint32_t target = warp.from_lane(place, from);
        const int row_dim = warp.from_lane(dim, from);
        for (int piece = warp.lane; piece < count; piece += warp_lanes) {
          const auto at = row_begin + static_cast<std::uint32_t>(piece * hot_row_piece);
          list.pieces[target + piece] = {at, Kokkos::min(at + static_cast<std::uint32_t>(hot_row_piece), row_end),
                                         source.number(row_begin, piece), row_dim};
        }
      }
    }
  }
};

/// Sums the positions of each piece of the long rows, or (Add) the sums of the pieces of each row that has more than
/// one: a warp 32 columns, one a lane. Warps claim them one after the other, as they take more or less time.
template <bool Add>
struct SumLongRows {
  static constexpr int columns = warp_lanes;                         ///< that a warp sums
  static constexpr int window = warp_lanes, batch = 2 * warp_lanes;  ///< numbers of a column that are read side by side
  using Bounds = Kokkos::LaunchBounds<team_lanes, 2>;
  using Words = Window<std::uint64_t>[batch / window];

  RowSource source;
  LongPieces list;
  std::uint32_t column_blocks;  ///< of `columns` columns
  std::uint32_t warps;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const WarpTile warp = whole_warp(static_cast<int>(i % warp_lanes));
    std::uint32_t& count = list.count(Add);
    const std::uint32_t all = warp.from_lane(count, 0) * column_blocks;
    std::uint32_t claim = next(warp);
    for (; claim < all; claim = next(warp)) {
      const std::uint32_t part = claim / column_blocks;
      sum_columns(warp, (Add ? list.rows : list.pieces)[part],
                  static_cast<int>(claim - part * column_blocks) * columns);
    }
    // The last of the warps to find nothing clears the counters for the next list.
    if (warp.lane == 0 && claim - all == warps - 1) {
      list.claimed(Add) = 0;
      count = 0;
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t next(const WarpTile& warp) const {
    const std::uint32_t claim = warp.lane == 0 ? Kokkos::atomic_fetch_add(&list.claimed(Add), 1U) : 0;
    return warp.from_lane(claim, 0);
  }

  KOKKOS_FORCEINLINE_FUNCTION void sum_columns(const WarpTile& warp, const LongPiece& piece, int first) const {
    if (first >= piece.dim) return;
    const int column = first + warp.lane, held = Kokkos::min(column, piece.dim - 1);
    float* sums = source.piece_sums + piece.number * source.stride + held;
    const float sum = Add ? sum_of_pieces(piece, held) : sum_of_positions(warp, piece.begin, piece.end, held);
    if (held == column) *sums = sum;
  }

  KOKKOS_FORCEINLINE_FUNCTION float sum_of_positions(const WarpTile& warp, std::uint32_t begin, std::uint32_t end,
                                                     int column) const {
    const auto position = [&](const Words& words, int j) {
      return source.position_of(words[j / window].at(warp, j % window));
    };
    const auto length = static_cast<int>(end - begin);
    Words words;
    read(warp, begin, end, words);
    return sum_in_order(
        length, [&](int, int j) { return read_only(source.vector(position(words, j)) + column); },
        [&](int i, int count, float(&values)[batch]) {
          if (source.weights != nullptr) {
            SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) {
              if (j < count) values[j] *= source.weights[position(words, j)];
            }
          }
          read(warp, begin + static_cast<std::uint32_t>(i + batch), end, words);
        });
  }
  /// Reads the words of the positions [begin, end), at most `batch`.
  KOKKOS_FORCEINLINE_FUNCTION void read(const WarpTile& warp, std::uint32_t begin, std::uint32_t end,
                                        Words& words) const {
    SHARDMARK_UNROLL for (int k = 0; k < batch / window; ++k) {
      const std::uint32_t at = begin + k * window;
      words[k].read(warp, source.words + at, std::int64_t{end} - at);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION float sum_of_pieces(const LongPiece& row, int column) const {
    return sum_in_order(
        static_cast<int>((row.end - row.begin + hot_row_piece - 1) / hot_row_piece),
        [&](int i, int j) { return source.piece_sum(row.begin, i + j)[column]; }, [](int, int, float(&)[batch]) {});
  }

  /// Returns the sum of number(i, j) for all i + j < length; prepare(i, count, values) has those of j < count, which
  /// may not have come yet.
  template <class Number, class Prepare>
  KOKKOS_FORCEINLINE_FUNCTION static float sum_in_order(int length, const Number& number, const Prepare& prepare) {
    float sum = 0;
    for (int i = 0; i < length; i += batch) {
      const int count = Kokkos::min(length - i, int{batch});
      float values[batch];
      if (count == batch) {
        SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) values[j] = number(i, j);
      } else {
        SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) values[j] = j < count ? number(i, j) : 0.0F;
      }
      prepare(i, count, values);
      SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) sum += values[j];
    }
    return sum;
  }
};

/// Holds the words of consecutive sorted positions, one in each lane of a tile.
class TileWords {
 public:
  /// Reads those of the positions [begin, end), as many as there are lanes.
  KOKKOS_FORCEINLINE_FUNCTION void read(const WarpTile& tile, const std::uint64_t* words, std::uint32_t begin,
                                        std::uint32_t end) {
    held_ = read_only(words + Kokkos::min(begin + static_cast<std::uint32_t>(tile.lane), end - 1));
  }
  KOKKOS_FORCEINLINE_FUNCTION std::uint64_t at(const WarpTile& tile, int i) const { return tile.from_lane(held_, i); }

 private:
  std::uint64_t held_{};
};

/// Gives the gradient of one distinct row to the lanes of a tile, which hold Chunks chunks of four columns each at a
/// time.
template <int Chunks>
struct RowColumns {
  static constexpr int chunks = Chunks;
  static constexpr int batch = Chunks == 1 ? 4 : 2;  ///< vectors that are read side by side
  /// Is what a lane holds of a row: its chunk k begins at column (k lanes + lane) 4.
  using Held = Chunk<float, 4>[Chunks];

  WarpTile tile;
  const RowSource& source;
  std::uint32_t begin, end;  ///< its positions, in sorted order
  TileWords words;           ///< of the first of them
  int dim;

  /// Returns how many columns the tile holds at a time: with one chunk a lane, all of a row.
  KOKKOS_FORCEINLINE_FUNCTION int span() const { return 4 * Chunks * tile.lanes; }
  KOKKOS_FORCEINLINE_FUNCTION bool held_at_once() const { return Chunks == 1 || dim <= span(); }

  /// Calls body(first column) for each of the spans that make up the row.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_span(const Body& body) const {
    if constexpr (Chunks == 1)
      body(0);
    else
      for (int first = 0; first < dim; first += span()) body(first);
  }

  /// Calls body(chunk, column) for each chunk held of the columns from `first` on.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_chunk(int first, const Body& body) const {
    SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) {
      const int column = column_of(first, k);
      if (column < dim) body(k, column);
    }
  }

  /// Sets `sum` to the columns of g(u) from `first` on. Most rows have one position, whose place is at hand; nothing
  /// waits for its vector before those of the next positions are on their way.
  KOKKOS_FORCEINLINE_FUNCTION void gradient(int first, Held& sum) const {
    const bool is_long = end - begin > long_row;
    const int length = is_long ? 1 : static_cast<int>(end - begin);
    const std::int64_t place = source.position_of(words.at(tile, 0));
    const float* vector = is_long ? source.piece_sum(begin, 0) : source.vector(place);
    const float weight = source.weights == nullptr || is_long ? 1.0F : source.weights[place];
    read(first, vector, sum);
    TileWords some = words;
    for (int i = 1; i < length; i += batch) {
      std::int64_t places[batch];
      find_places(i, length, some, places);
      float weights[batch] = {};
      if (source.weights != nullptr) read_weights(length - i, places, weights);
      Held values[batch];
      read(first, length - i, places, values);
      if (source.weights != nullptr) weigh(weights, values);
      if (i == 1) begin_sum(weight, sum);
      SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) add(values[j], sum);
    }
    if (length == 1) begin_sum(weight, sum);
  }

  /// Calls body(column, g(u) of it and the next three) for each chunk of the row.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_gradient(const Body& body) const {
    for_each_span([&](int first) {
      Held held;
      gradient(first, held);
      for_each_chunk(first, [&](int k, int column) { body(column, held[k]); });
    });
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION int column_of(int first, int k) const { return first + 4 * (k * tile.lanes + tile.lane); }

  /// Finds the places of the positions from number i on, those behind the last as the last. `some` are the words from
  /// the last multiple of the tile's lanes before i on.
  KOKKOS_FORCEINLINE_FUNCTION void find_places(int i, int length, TileWords& some,
                                               std::int64_t (&places)[batch]) const {
    SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) {
      const int at = Kokkos::min(i + j, length - 1) & (tile.lanes - 1);
      if (at == 0 && i + j < length) some.read(tile, source.words, begin + static_cast<std::uint32_t>(i + j), end);
      places[j] = source.position_of(some.at(tile, at));
    }
  }

  /// Reads the chunks of one vector, which may lie anywhere.
  KOKKOS_FORCEINLINE_FUNCTION void read(int first, const float* vector, Held& values) const {
    SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) {
      const int column = column_of(first, k);
      values[k] = {};
      if (column < dim) values[k] = read_four(vector + column, dim - column);
    }
  }
  /// Reads the chunks of `count` vectors, at most those that are given, and 0 in place of others; vectors that lie as
  /// they should without a choice between two of them.
  KOKKOS_FORCEINLINE_FUNCTION void read(int first, int count, const std::int64_t (&places)[batch],
                                        Held (&values)[batch]) const {
    const float* vectors[batch];
    SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) vectors[j] = source.vector(places[j]);
    bool in_chunks = dim % 4 == 0;
    SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) {
      in_chunks = in_chunks && aligned(vectors[j], sizeof(Chunk<float, 4>));
      SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) values[j][k] = {};
    }
    if (in_chunks) {
      SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) {
        SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) {
          const int column = column_of(first, k);
          if (j < count && column < dim) values[j][k] = load_read_only<4>(vectors[j] + column);
        }
      }
    } else {
      SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) {
        if (j < count) read(first, vectors[j], values[j]);
      }
    }
  }

  /// Reads the weights of `count` vectors, at most those that are given, ahead of these: they take fewer registers than
  /// their places would until then.
  KOKKOS_FORCEINLINE_FUNCTION void read_weights(int count, const std::int64_t (&places)[batch],
                                                float (&weights)[batch]) const {
    SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) weights[j] = j < count ? source.weights[places[j]] : 0.0F;
  }
  KOKKOS_FORCEINLINE_FUNCTION static void weigh(const float (&weights)[batch], Held (&values)[batch]) {
    SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) {
      SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) {
        SHARDMARK_UNROLL for (int c = 0; c < 4; ++c) values[j][k].at[c] *= weights[j];
      }
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION static void begin_sum(float weight, Held& first) {
    SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) {
      SHARDMARK_UNROLL for (int c = 0; c < 4; ++c) first[k].at[c] = 0.0F + weight * first[k].at[c];
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION static void add(const Held& values, Held& sum) {
    SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) {
      SHARDMARK_UNROLL for (int c = 0; c < 4; ++c) sum[k].at[c] += values[k].at[c];
    }
  }
};

/// Computes the gradients of the rows of some shards, a tile for each, and passes them to
/// consume(shard, u, row, columns). Sums in the order of the host's kernel; `row` is local to the shard.
template <class Shard, int Chunks, class Consume>
struct RowGradientKernel {
  RowSource source;
  ShardRange<Shard> shards;
  Consume consume;

  KOKKOS_FUNCTION void operator()(const WarpTile& tile, std::int64_t tile_number, std::int64_t tile_count) const {
    const std::int64_t rows = *source.total;
    const auto key_of = [&](std::int64_t u) { return source.key_at(source.segments[u]); };
    const auto row_from = [&](std::int64_t key) {
      return static_cast<std::uint32_t>(first_at_least(rows, key, key_of));
    };
    const std::uint32_t first = shards.first_key == 0 ? 0 : row_from(shards.first_key);
    const auto stop = shards.end_key == shards.no_end ? static_cast<std::uint32_t>(rows) : row_from(shards.end_key);
    const std::int64_t number = first + tile_number;
    if (number >= stop) return;
    const auto tiles = static_cast<std::uint32_t>(tile_count);
    const auto next_of = [&](std::uint32_t u) { return u + Kokkos::min(tiles, stop - u); };
    // The words of the next row and the bounds of the one behind it are on their way while this one is worked on.
    auto u = static_cast<std::uint32_t>(number), next = next_of(u);
    Span at = bounds(u, stop), behind = bounds(next, stop);
    TileWords words, next_words;
    words.read(tile, source.words, at.begin, at.end);
    for (;;) {
      next_words.read(tile, source.words, behind.begin, behind.end);
      const std::uint32_t later = next_of(next);
      const Span last = bounds(later, stop);
      const std::int64_t key = source.key_of(words.at(tile, 0));
      const Shard& shard = shards.of(key);
      consume(shard, u, key - shard.first_key,
              RowColumns<Chunks>{tile, source, at.begin, at.end, words, static_cast<int>(shard.dim)});
      if (next == stop) return;
      u = next;
      next = later;
      at = behind;
      behind = last;
      words = next_words;
    }
  }

 private:
  struct Span {
    std::uint32_t begin, end;
  };
  /// Returns the bounds of the positions of row u, or of the last row before `stop`.
  KOKKOS_FORCEINLINE_FUNCTION Span bounds(std::uint32_t u, std::uint32_t stop) const {
    const std::int64_t* at = source.segments + Kokkos::min(u, stop - 1);
    return {static_cast<std::uint32_t>(read_only(at)), static_cast<std::uint32_t>(read_only(at + 1))};
  }
};

/// Returns where the gradients of rows are read from, with the sums of the pieces of long rows, which it computes.
template <class Exec, class Shard>
RowSource row_source(const std::string& label, const Exec& exec, const RowGradients<Exec>& gradients,
                     const ShardList<Exec, Shard>& list, RowGradientsWorkspace<Exec>& workspace) {
  const auto& unique = gradients.unique;
  const PieceNumbers numbers(unique.positions());
  const std::int64_t stride = (list.largest_dim + 3) / 4 * 4;
  const RowSource source{unique.words.data(),
                         unique.segments.data(),
                         unique.total.data(),
                         gradients.gradient_offset.extent(0) > 0 ? gradients.gradient_offset.data() : nullptr,
                         gradients.weights.extent(0) > 0 ? gradients.weights.data() : nullptr,
                         gradients.gradients.data(),
                         unique.positions(),
                         unique.position_bits,
                         numbers,
                         workspace.partial_sums.first(numbers.count * stride).data(),
                         stride};
  const auto places = workspace.long_pieces.first(numbers.count + numbers.later);
  if (workspace.counters.extent(0) == 0) workspace.counters = Array<Exec, std::uint32_t>("shardmark::long_rows", 4);
  const LongPieces pieces{places.data(), places.data() + numbers.count, workspace.counters.data()};
  const std::int64_t all_warps = places_for_warps(exec),
                     list_warps = std::min(all_warps, (unique.positions() + warp_lanes - 1) / warp_lanes);
  for_lanes<typename ListLongRows<Shard>::Bounds>(
      label + "_list_long_rows", exec, list_warps,
      ListLongRows<Shard>{source, {list.shards.data(), list.count()}, pieces, list_warps});
  const auto sum = [&]<bool Add>(std::bool_constant<Add>, std::int64_t most) {
    using Kernel = SumLongRows<Add>;
    Kernel kernel{source, pieces,
                  static_cast<std::uint32_t>((list.largest_dim + Kernel::columns - 1) / Kernel::columns), 0};
    // A quarter of those that the device has places for, which have the registers of all.
    kernel.warps = static_cast<std::uint32_t>(std::min<std::int64_t>(most * kernel.column_blocks, all_warps / 4));
    for_lanes<typename Kernel::Bounds>(label + "_long_rows", exec, kernel.warps, kernel);
  };
  sum(std::false_type{}, numbers.count);
  if (numbers.later > 1) sum(std::true_type{}, numbers.later);
  return source;
}

/// Is how many vectors of state Consume keeps beside the row and its gradient.
template <class Consume>
inline constexpr std::int64_t vectors_kept = 0;

/// Passes the gradients of the rows of some shards, of at most largest_dim columns, to `consume`. Lanes hold a chunk
/// of rows of up to 32 columns, for more rows that wait at a time, and two of wider ones, for fewer instructions a row;
/// rows of more than 256 columns are held in parts.
template <class Exec, class Shard, class Consume>
void for_each_row(const std::string& label, const Exec& exec, const RowSource& source, const ShardRange<Shard>& shards,
                  std::int64_t largest_dim, const Consume& consume) {
  const auto launch = [&]<int Chunks>(std::integral_constant<int, Chunks>) {
    const int lanes = tile_lanes((largest_dim + 4 * Chunks - 1) / (4 * Chunks));
    constexpr std::int64_t chunks_kept = Chunks * (2 + vectors_kept<Consume>);
    // Of 64, 80 and 128 registers a lane: with fewer, what is kept of a row spills.
    constexpr int teams = chunks_kept == 2 ? 4 : chunks_kept <= 4 ? 3 : 2;
    using Bounds = Kokkos::LaunchBounds<team_lanes, teams>;
    for_tiles<Bounds>(label, exec, std::min(source.most_positions, places_for_tiles(exec, lanes, teams)), lanes,
                      RowGradientKernel<Shard, Chunks, Consume>{source, shards, consume});
  };
  if (largest_dim <= 32)
    launch(std::integral_constant<int, 1>{});
  else
    launch(std::integral_constant<int, 2>{});
}

}  // namespace shardmark::kernels::device
