// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reference/named.hpp"

namespace shardmark::reference {

/// Selects how the entries of the cores are drawn (initial_cores.hpp).
enum class CoreInitializer { scaled, uniform, normal, approx_uniform, approx_normal };

inline constexpr std::array core_initializers{
    Choice<CoreInitializer>{"scaled", "zero mean, and the requested variance of the entries of the table",
                            CoreInitializer::scaled},
    Choice<CoreInitializer>{"uniform", "FBTT-Embedding's uniform: not zero-mean", CoreInitializer::uniform},
    Choice<CoreInitializer>{"normal", "FBTT-Embedding's normal: N(0, 1 / rows), ignores the ranks",
                            CoreInitializer::normal},
    Choice<CoreInitializer>{"approx_uniform", "FBTT-Embedding's approx-uniform, of three cores",
                            CoreInitializer::approx_uniform},
    Choice<CoreInitializer>{"approx_normal", "FBTT-Embedding's approx-normal: tails of N(0, 1), ignores the ranks",
                            CoreInitializer::approx_normal},
};
constexpr auto choices_of(CoreInitializer) { return Choices{"core initializer", core_initializers}; }

/// Selects which products of neighbouring cores are shared by the rows of a batch.
enum class ContractionDirection { automatic, prefix, suffix };

inline constexpr std::array contraction_directions{
    Choice<ContractionDirection>{"auto", "the one that costs a first batch fewer flops",
                                 ContractionDirection::automatic},
    Choice<ContractionDirection>{"prefix", "core 0 first: rows share products of their leading digits",
                                 ContractionDirection::prefix},
    Choice<ContractionDirection>{"suffix", "last core first: rows share products of their trailing digits",
                                 ContractionDirection::suffix},
};
constexpr auto choices_of(ContractionDirection) { return Choices{"contraction direction", contraction_directions}; }

/// Selects in which order the gradients of a core's slices are added.
enum class SliceSums { ordered, unordered };

inline constexpr std::array slice_sums{
    Choice<SliceSums>{"ordered", "by row: the same bits in every run", SliceSums::ordered},
    Choice<SliceSums>{"unordered", "atomically, as threads come to them", SliceSums::unordered},
};
constexpr auto choices_of(SliceSums) { return Choices{"order of slice sums", slice_sums}; }

/// Selects what becomes of gradients of rows that the cache of a table holds.
enum class CacheWrites { trained, read_only };

inline constexpr std::array cache_writes{
    Choice<CacheWrites>{"trained",
                        "cached rows are trained in their own right; a row that leaves hands what it learned "
                        "to the cores",
                        CacheWrites::trained},
    Choice<CacheWrites>{"read_only", "gradients go to the cores, and a cached copy holds until the cores change",
                        CacheWrites::read_only},
};
constexpr auto choices_of(CacheWrites) { return Choices{"cache writes", cache_writes}; }

/// Configures the cache of decompressed rows that are used often, beside the cores.
struct RowCache {
  std::int64_t rows = 0;         ///< 0: no cache
  std::int64_t count_slots = 0;  ///< rows that are counted while they are not cached; 0: twice `rows`
  CacheWrites writes = CacheWrites::trained;
  std::int64_t populate_every = 16;  ///< steps from one choice of the cached rows to the next

  bool operator==(const RowCache&) const = default;
};

/// Configures a table of Storage::tt. Its rows are products of `cores` slices, one of each core (shape.hpp has the
/// definition).
struct TensorTrain {
  std::int64_t cores = 3;
  std::vector<std::int64_t> row_shape{};  ///< p, [cores], product at least the rows; empty: suggested
  std::vector<std::int64_t> dim_shape{};  ///< q, [cores], product the dim; empty: suggested
  std::vector<std::int64_t> ranks{};      ///< between cores, [cores - 1], or one for all; empty: see compression
  double compression = 0.0;               ///< elements of the table per element of the cores, for ranks; 0: ranks of 32
  CoreInitializer initializer = CoreInitializer::scaled;
  double variance = 0.0;      ///< of the entries of the table, for `scaled`; 0: that of dense tables
  std::string import_file{};  ///< cores to begin with instead of drawn ones (datasets/cores_file.hpp); empty: none
  std::shared_ptr<const std::vector<std::vector<float>>> imported{};  ///< what that file holds, once it has been read
  ContractionDirection direction = ContractionDirection::automatic;
  SliceSums slice_sums = SliceSums::ordered;
  bool fused_update = true;          ///< false: gradients of slices are stored before an optimizer reads them
  std::int64_t workspace_mib = 256;  ///< most memory for intermediate products
  RowCache cache{};

  bool operator==(const TensorTrain&) const = default;
};

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::CacheWrites, reference::ContractionDirection, reference::CoreInitializer, reference::RowCache,
    reference::SliceSums, reference::TensorTrain, reference::cache_writes, reference::contraction_directions,
    reference::slice_sums;
}  // namespace shardmark
