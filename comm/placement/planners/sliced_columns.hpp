// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "reference/named.hpp"
#include "reference/table.hpp"

namespace shardmark::placement {

/// Says how NVIDIA distributed-embeddings deals slices to ranks.
enum class SliceStrategy { basic, memory_balanced, memory_optimized };

inline constexpr std::array slice_strategies{
    Choice<SliceStrategy>{"basic", "round robin in table order", SliceStrategy::basic},
    Choice<SliceStrategy>{"memory_balanced", "the largest to the ranks in turn, up and down: as many slices on each",
                          SliceStrategy::memory_balanced},
    Choice<SliceStrategy>{"memory_optimized", "the largest first, each to the rank that holds least",
                          SliceStrategy::memory_optimized},
};
constexpr auto choices_of(SliceStrategy) { return Choices{"strategy", slice_strategies}; }

/// Holds the settings of the strategies. Thresholds and budget are in elements: rows x columns of a dense table, values
/// of the cores of a tensor train.
struct SliceRules {
  SliceStrategy strategy = SliceStrategy::basic;  ///< on one rank always basic
  int ranks = 1;
  std::optional<std::int64_t> column_threshold = {};         ///< larger tables are cut into slices of at most so many
  std::optional<std::int64_t> row_threshold = {};            ///< of at least so many: rows on all ranks
  std::optional<std::int64_t> data_parallel_threshold = {};  ///< of at most so many: a copy on every rank
  std::optional<std::int64_t> offload_budget = {};  ///< what fits the device of a rank; the rest is on its host
  bool merge = true;                                ///< slices of a table that meet on a rank become one
  bool fill_ranks = true;  ///< cut on where automatic slicing would leave ranks without a slice; false: as the library
};

/// A ColumnPart is columns [begin, end) of a table.
struct ColumnPart {
  std::int64_t table = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool offloaded = false;  ///< to the host

  bool operator==(const ColumnPart&) const = default;
};

/// Lists parts of equal width and pooling that one rank keeps as a single local table: local row = id + row_offset.
struct JoinedTables {
  std::vector<std::int64_t> tables;
  std::vector<std::int64_t> row_offsets;  ///< [tables]

  bool operator==(const JoinedTables&) const = default;
};

/// Holds what the strategies of distributed-embeddings make of some tables.
struct SlicedTables {
  std::vector<std::int64_t> data_parallel, column, row;  ///< tables of each group, ascending
  std::optional<std::int64_t> automatic_threshold;     ///< that slicing took because there were fewer tables than ranks
  std::vector<std::vector<std::int64_t>> slices;       ///< [ranks] the tables whose slices were dealt to it, in order
  std::vector<std::vector<ColumnPart>> parts;          ///< [ranks] what these came to
  std::vector<std::vector<JoinedTables>> joined;       ///< [ranks]
  std::vector<std::vector<std::int64_t>> row_offsets;  ///< [row][ranks] local row = id + offset
};

/// Applies the rules of NVIDIA distributed-embeddings (DistEmbeddingStrategy, commit 4cb42d4):
///   1. A table of at most data_parallel_threshold elements is data_parallel, else one of at least row_threshold is
///      row, else column. One rank has only column tables.
///   2. A column table has the least n = 1, 2, 4, ... slices of at most column_threshold elements, but no more than
///      ranks or columns; the first dim mod n slices are one column wider. Without a threshold and with fewer column
///      tables than ranks, the largest of their sizes is halved until there are as many as ranks, and the threshold is
///      one less than the last that was halved.
///   3. The strategy deals the slices. They carry only the number of their table: its holders, in rank order, take its
///      next columns, and where slices differ by a column, ranks may hold others than were dealt to them.
///   4. Slices of one table on a rank are merged, smallest parts stay on the device until the budget is spent, and
///      parts of equal width and pooling on the device are joined, each to the first local table that fits.
///   5. A row table has rows / ranks + (r < rows mod ranks) contiguous rows on rank r.
/// Two things are done differently. The library compares numbers of inputs with numbers of tables when it merges, so
/// that tables which several features share come out wrong; there are no inputs here. And unless fill_ranks is off,
/// automatic slicing goes on until every rank has a slice or no column is left to cut. Tensor trains are never cut.
SlicedTables slice_tables(std::span<const Table> tables, std::span<const Feature> features, const SliceRules& rules);

}  // namespace shardmark::placement
