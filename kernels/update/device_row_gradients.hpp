// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "kernels/device_tiles.hpp"
#include "kernels/update/row_gradients.hpp"

namespace shardmark::kernels::device {

/// Rows with more positions than this are summed before all others, each piece of hot_row_piece positions by threads of
/// its own.
inline constexpr std::int64_t long_row = 64;

/// Names the sorted positions [begin, end) of one row, none where there is no such piece.
struct Positions {
  std::int64_t begin = 0, end = 0;
};

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
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t position(std::int64_t i) const { return position_of(words[i]); }

  KOKKOS_FORCEINLINE_FUNCTION const float* vector(std::int64_t place) const {
    return gradients + (gradient_offset == nullptr ? place : gradient_offset[place]);
  }
  /// Finds the vectors of Count sorted positions from i on, those from number `count` on as the last before it. Their
  /// places are read side by side: nothing waits between two of them.
  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void find_vectors(std::uint32_t i, int count, const float* (&vectors)[Count]) const {
    std::int64_t places[Count];
    SHARDMARK_UNROLL for (int j = 0; j < Count; ++j) {
      places[j] = position(i + static_cast<std::uint32_t>(Kokkos::min(j, count - 1)));
    }
    if (gradient_offset != nullptr) {
      SHARDMARK_UNROLL for (int j = 0; j < Count; ++j) places[j] = gradient_offset[places[j]];
    }
    SHARDMARK_UNROLL for (int j = 0; j < Count; ++j) vectors[j] = gradients + places[j];
  }
  /// Returns the sum of piece i of the long row that begins at position `begin`; in the end that of piece 0 is the sum
  /// of all.
  KOKKOS_FORCEINLINE_FUNCTION float* piece_sum(std::uint32_t begin, int i) const {
    return piece_sums + numbers.number(begin + i * hot_row_piece, i == 0) * stride;
  }

  /// Returns the positions of the piece with this number.
  KOKKOS_FORCEINLINE_FUNCTION Positions piece(std::int64_t number) const {
    return number < numbers.later ? later_piece(number * hot_row_piece)
                                  : first_piece((number - numbers.later) * long_row);
  }
  /// Returns the positions of the row whose second piece has this number.
  KOKKOS_FORCEINLINE_FUNCTION Positions row_of_second_piece(std::int64_t number) const {
    const auto row = row_of_later_piece(number * hot_row_piece);
    const bool begins_here = (row.begin + hot_row_piece) / hot_row_piece == number;
    return begins_here && row.end - row.begin > hot_row_piece ? row : Positions{};
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t positions() const { return segments[*total]; }
  /// Returns whether the row of position i may have more than `length` positions. It has one of these two if it has.
  KOKKOS_FORCEINLINE_FUNCTION bool may_be_longer(std::int64_t i, std::int64_t length) const {
    const std::int64_t before = i - length / 2, behind = i + length / 2, key = key_at(i);
    return (before >= 0 && key_at(before) == key) || (behind < positions() && key_at(behind) == key);
  }
  KOKKOS_FORCEINLINE_FUNCTION Positions row_of(std::int64_t i) const {
    const std::int64_t u = last_at_most(*total, i, [&](std::int64_t row) { return segments[row]; });
    return {segments[u], segments[u + 1]};
  }
  /// Returns the first piece of the long row that begins in [window, window + long_row): it goes on behind the window.
  KOKKOS_FORCEINLINE_FUNCTION Positions first_piece(std::int64_t window) const {
    const std::int64_t behind = window + long_row;
    if (behind >= positions() || !may_be_longer(behind, long_row)) return {};
    const auto row = row_of(behind);
    if (row.begin < window || row.begin == behind || row.end - row.begin <= long_row) return {};
    return {row.begin, Kokkos::min(row.begin + hot_row_piece, row.end)};
  }
  /// Returns the row that goes on from before `window`, if a later piece may begin in [window, window + hot_row_piece).
  KOKKOS_FORCEINLINE_FUNCTION Positions row_of_later_piece(std::int64_t window) const {
    if (window == 0 || window >= positions() || key_at(window - 1) != key_at(window) ||
        !may_be_longer(window, hot_row_piece))
      return {};
    return row_of(window);
  }
  KOKKOS_FORCEINLINE_FUNCTION Positions later_piece(std::int64_t window) const {
    const auto row = row_of_later_piece(window);
    const std::int64_t at = row.begin + (window - row.begin + hot_row_piece - 1) / hot_row_piece * hot_row_piece;
    if (at >= row.end) return {};
    return {at, Kokkos::min(at + hot_row_piece, row.end)};
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

/// Returns the sum, in order, of one column of `length` vectors, column_batch of which are read at a time: find(i,
/// vectors) finds those from i on, weigh(i, values) multiplies their values.
inline constexpr int column_batch = 24;
template <class Find, class Weigh>
KOKKOS_FORCEINLINE_FUNCTION float sum_column(std::int64_t column, int length, const Find& find, const Weigh& weigh) {
  float sum = 0;
  for (int i = 0; i < length; i += column_batch) {
    const float* vectors[column_batch];
    float values[column_batch];
    find(i, vectors);
    SHARDMARK_UNROLL for (int j = 0; j < column_batch; ++j) {
      values[j] = j < length - i ? read_only(vectors[j] + column) : 0.0F;
    }
    weigh(i, values);
    SHARDMARK_UNROLL for (int j = 0; j < column_batch; ++j) sum += values[j];
  }
  return sum;
}

/// Sums long rows, a column by each thread.
template <class Exec, class Shard>
struct LongRows {
  struct SumPieces {};
  struct AddPieces {};

  RowSource source;
  ShardRange<Shard> shards;
  int width;
  std::int64_t column_blocks;  ///< of `width` columns

  /// Sums the positions of each piece.
  template <class Team>
  KOKKOS_FUNCTION void operator()(SumPieces, const Team& team) const {
    for_each_column(
        team, source.numbers.count, [&](std::int64_t number) { return source.piece(number); },
        [&](std::int64_t number, const Positions& piece, std::int64_t column) {
          const auto length = static_cast<int>(piece.end - piece.begin);
          source.piece_sums[number * source.stride + column] = sum_column(
              column, length,
              [&](int i, auto& vectors) {
                source.find_vectors(static_cast<std::uint32_t>(piece.begin + i), length - i, vectors);
              },
              [&](int i, auto& values) {
                if (source.weights == nullptr) return;
                SHARDMARK_UNROLL for (int j = 0; j < column_batch; ++j) {
                  if (j < length - i) values[j] *= source.weights[source.position(piece.begin + i + j)];
                }
              });
        });
  }

  /// Adds the sums of the pieces of each row that has more than one.
  template <class Team>
  KOKKOS_FUNCTION void operator()(AddPieces, const Team& team) const {
    for_each_column(
        team, source.numbers.later, [&](std::int64_t number) { return source.row_of_second_piece(number); },
        [&](std::int64_t, const Positions& row, std::int64_t column) {
          const auto begin = static_cast<std::uint32_t>(row.begin);
          const auto pieces = static_cast<int>((row.end - row.begin + hot_row_piece - 1) / hot_row_piece);
          source.piece_sum(begin, 0)[column] = sum_column(
              column, pieces,
              [&](int i, auto& vectors) {
                SHARDMARK_UNROLL for (int j = 0; j < column_batch; ++j) {
                  vectors[j] = source.piece_sum(begin, Kokkos::min(i + j, pieces - 1));
                }
              },
              [](int, auto&) {});
        });
  }

 private:
  /// Calls body(number, find(number), column) for the columns of the row of what find(number) finds.
  template <class Team, class Find, class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_column(const Team& team, std::int64_t numbers, const Find& find,
                                                   const Body& body) const {
    for (std::int64_t item = tile_number(team); item < numbers * column_blocks; item += tile_count(team)) {
      const std::int64_t number = item / column_blocks;
      const Positions found = find(number);
      if (found.begin == found.end) continue;
      const std::int64_t dim = shards.of(source.key_at(found.begin)).dim;
      const std::int64_t first = (item - number * column_blocks) * width;
      Tile<Exec>{width}.for_each_thread([&](int thread, int) {
        if (first + thread < dim) body(number, found, first + thread);
      });
    }
  }
};

/// Gives the gradient of one distinct row to the threads of a tile, which hold Chunks chunks of four columns each at a
/// time.
template <class Exec, int Chunks>
struct RowColumns {
  using Space = Exec;
  static constexpr int chunks = Chunks;
  static constexpr int batch = Chunks == 1 ? 4 : 2;  ///< vectors that are read side by side
  /// Is what a thread holds of a row: chunk k of thread t of the tile begins at column (k width + t) 4.
  using Held = Chunk<float, 4>[Tile<Exec>::kept][Chunks];

  Tile<Exec> tile;
  const RowSource& source;
  std::uint32_t begin, end;  ///< its positions, in sorted order
  std::uint64_t word;        ///< of the first
  int dim;

  /// Returns how many columns the tile holds at a time; with one chunk a thread that is all of a row.
  KOKKOS_FORCEINLINE_FUNCTION int span() const { return 4 * Chunks * tile.width; }
  KOKKOS_FORCEINLINE_FUNCTION bool held_at_once() const { return Chunks == 1 || dim <= span(); }

  /// Calls body(first column) for each of the spans that make up the row.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_span(const Body& body) const {
    if constexpr (Chunks == 1)
      body(0);
    else
      for (int first = 0; first < dim; first += span()) body(first);
  }

  /// Calls body(element of Held, chunk, column) for each chunk held of the columns from `first` on.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_chunk(int first, const Body& body) const {
    tile.for_each_thread([&](int thread, int own) {
      SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) {
        const int column = column_of(first, thread, k);
        if (column < dim) body(own, k, column);
      }
    });
  }

  /// Sets `held` to the columns of g(u) from `first` on. Most rows have one position, whose place is at hand; nothing
  /// waits for its vector before those of the next positions are on their way.
  KOKKOS_FORCEINLINE_FUNCTION void gradient(int first, Held& held) const {
    const bool is_long = end - begin > long_row;
    const int length = is_long ? 1 : static_cast<int>(end - begin);
    const std::int64_t place = source.position_of(word);
    const float* vector = is_long ? source.piece_sum(begin, 0) : source.vector(place);
    const float weight = source.weights == nullptr || is_long ? 1.0F : source.weights[place];
    tile.for_each_thread([&](int thread, int own) {
      auto& sum = held[own];
      read(first, thread, vector, sum);
      for (int i = 1; i < length; i += batch) {
        const float* vectors[batch];
        source.find_vectors(begin + static_cast<std::uint32_t>(i), length - i, vectors);
        Chunk<float, 4> values[batch][Chunks];
        read(first, thread, length - i, vectors, values);
        if (source.weights != nullptr) weigh(begin + static_cast<std::uint32_t>(i), length - i, values);
        if (i == 1) begin_sum(weight, sum);
        SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) add(values[j], sum);
      }
      if (length == 1) begin_sum(weight, sum);
    });
  }

  /// Calls body(column, g(u) of it and the next three) for each chunk of the row.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_gradient(const Body& body) const {
    for_each_span([&](int first) {
      Held held;
      gradient(first, held);
      for_each_chunk(first, [&](int own, int k, int column) { body(column, held[own][k]); });
    });
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION int column_of(int first, int thread, int k) const {
    return first + 4 * (k * tile.width + thread);
  }

  /// Reads the chunks of one vector, which may lie anywhere.
  KOKKOS_FORCEINLINE_FUNCTION void read(int first, int thread, const float* vector,
                                        Chunk<float, 4> (&values)[Chunks]) const {
    SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) {
      const int column = column_of(first, thread, k);
      values[k] = {};
      if (column < dim) values[k] = read_four(vector + column, dim - column);
    }
  }
  /// Reads the chunks of `count` vectors, at most those that are given, and 0 in place of others; vectors that lie as
  /// they should without a choice between two of them.
  KOKKOS_FORCEINLINE_FUNCTION void read(int first, int thread, int count, const float* const (&vectors)[batch],
                                        Chunk<float, 4> (&values)[batch][Chunks]) const {
    bool in_chunks = dim % 4 == 0;
    SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) {
      in_chunks = in_chunks && aligned(vectors[j], sizeof(Chunk<float, 4>));
      SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) values[j][k] = {};
    }
    if (in_chunks) {
      SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) {
        SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) {
          const int column = column_of(first, thread, k);
          if (j < count && column < dim) values[j][k] = load_read_only<4>(vectors[j] + column);
        }
      }
    } else {
      SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) {
        if (j < count) read(first, thread, vectors[j], values[j]);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void weigh(std::uint32_t i, int count, Chunk<float, 4> (&values)[batch][Chunks]) const {
    SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) {
      const float weight = j < count ? source.weights[source.position(i + static_cast<std::uint32_t>(j))] : 0.0F;
      SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) {
        SHARDMARK_UNROLL for (int c = 0; c < 4; ++c) values[j][k].at[c] *= weight;
      }
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION static void begin_sum(float weight, Chunk<float, 4> (&first)[Chunks]) {
    SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) {
      SHARDMARK_UNROLL for (int c = 0; c < 4; ++c) first[k].at[c] = 0.0F + weight * first[k].at[c];
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION static void add(const Chunk<float, 4> (&values)[Chunks], Chunk<float, 4> (&sum)[Chunks]) {
    SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) {
      SHARDMARK_UNROLL for (int c = 0; c < 4; ++c) sum[k].at[c] += values[k].at[c];
    }
  }
};

/// Computes the gradients of the rows of some shards, a tile for each, and passes them to
/// consume(shard, u, row, columns). Sums in the order of the host's kernel; `row` is local to the shard.
template <class Exec, class Shard, int Chunks, class Consume>
struct RowGradientKernel {
  RowSource source;
  ShardRange<Shard> shards;
  int width;
  Consume consume;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t rows = *source.total;
    const auto key_of = [&](std::int64_t u) { return source.key_at(source.segments[u]); };
    const auto row_from = [&](std::int64_t key) {
      return static_cast<std::uint32_t>(first_at_least(rows, key, key_of));
    };
    const std::uint32_t first = shards.first_key == 0 ? 0 : row_from(shards.first_key);
    const auto stop = shards.end_key == shards.no_end ? static_cast<std::uint32_t>(rows) : row_from(shards.end_key);
    const auto tiles = static_cast<std::uint32_t>(tile_count(team));
    for (std::uint32_t u = first + static_cast<std::uint32_t>(tile_number(team)); u < stop; u += tiles) {
      const auto begin = static_cast<std::uint32_t>(source.segments[u]);
      const auto end = static_cast<std::uint32_t>(source.segments[u + 1]);
      const std::uint64_t word = source.words[begin];
      const std::int64_t key = source.key_of(word);
      const Shard& shard = shards.of(key);
      consume(shard, u, key - shard.first_key,
              RowColumns<Exec, Chunks>{Tile<Exec>{width}, source, begin, end, word, static_cast<int>(shard.dim)});
      if (stop - u <= tiles) return;  // u could pass 2^32
    }
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
  const int width = tile_width(list.largest_dim);
  using Kernel = LongRows<Exec, Shard>;
  const Kernel kernel{source, {list.shards.data(), list.count()}, width, (list.largest_dim + width - 1) / width};
  const auto launch = [&]<class Tag>(Tag, std::int64_t pieces) {
    using Bounds = Kokkos::LaunchBounds<team_threads, 2>;
    Kokkos::parallel_for(label + "_long_rows", resident_tiles<Bounds, Tag>(exec, pieces * kernel.column_blocks, width),
                         kernel);
  };
  launch(typename Kernel::SumPieces{}, numbers.count);
  if (numbers.later > 1) launch(typename Kernel::AddPieces{}, numbers.later);
  return source;
}

/// Is how many vectors of state Consume keeps beside the row and its gradient.
template <class Consume>
inline constexpr std::int64_t vectors_kept = 0;

/// Passes the gradients of the rows of some shards, of at most largest_dim columns, to `consume`. Threads hold a chunk
/// of rows of up to 32 columns, for more rows that wait at a time, and two of wider ones, for fewer instructions a row;
/// rows of more than 256 columns are held in parts.
template <class Exec, class Shard, class Consume>
void for_each_row(const std::string& label, const Exec& exec, const RowSource& source, const ShardRange<Shard>& shards,
                  std::int64_t largest_dim, const Consume& consume) {
  const auto launch = [&]<int Chunks>(std::integral_constant<int, Chunks>) {
    const int width = tile_width((largest_dim + 4 * Chunks - 1) / (4 * Chunks));
    constexpr std::int64_t chunks_kept = Chunks * (2 + vectors_kept<Consume>);
    constexpr int teams = chunks_kept == 2 ? 4 : chunks_kept <= 4 ? 3 : 2;  // of 64, 80 and 128 registers a thread
    using Bounds = Kokkos::LaunchBounds<team_threads, teams>;
    Kokkos::parallel_for(label, resident_tiles<Bounds>(exec, source.most_positions, width),
                         RowGradientKernel<Exec, Shard, Chunks, Consume>{source, shards, width, consume});
  };
  if (largest_dim <= 32)
    launch(std::integral_constant<int, 1>{});
  else
    launch(std::integral_constant<int, 2>{});
}

}  // namespace shardmark::kernels::device
