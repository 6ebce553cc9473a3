// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/error.hpp"

namespace shardmark::reference {

/// Is a nested CSR: the segments of level 0 are samples; segment s of level k holds [levels[k][s], levels[k][s + 1]) of
/// the segments of level k + 1 or, on the last level, of the values. Ragged [sample, slot, id]: {slots of samples, ids
/// of slots}.
using NestedOffsets = std::vector<std::vector<std::int64_t>>;

/// Returns where the segments of one level begin and end in the values, [segments of the level + 1]: HybridBackend's
/// emb_segment_rank. Level 0 gives one vector per sample, level 1 one per sequence slot. Throws InputError when there
/// is no such level.
inline std::vector<std::int64_t> segment_offsets(const NestedOffsets& levels, std::int64_t level) {
  if (level < 0 || level >= std::ssize(levels))
    throw InputError("segment level " + std::to_string(level) + " is not one of " + std::to_string(levels.size()) +
                     " levels of offsets");
  auto offsets = levels[level];
  for (auto inner = static_cast<std::size_t>(level) + 1; inner < levels.size(); ++inner)
    for (auto& offset : offsets) offset = levels[inner][offset];
  return offsets;
}

/// Sets output[s] to the sum of the values of segment s, in double, rounded once; to 0 where it is empty. offsets
/// [segments + 1], values [offsets.back(), dim], output [segments, dim].
inline void segment_sum(std::span<const std::int64_t> offsets, std::span<const float> values, std::int64_t dim,
                        std::span<float> output) {
  for (std::int64_t s = 0; s + 1 < std::ssize(offsets); ++s) {
    for (std::int64_t c = 0; c < dim; ++c) {
      double sum = 0.0;
      for (auto i = offsets[s]; i < offsets[s + 1]; ++i) sum += values[i * dim + c];
      output[s * dim + c] = static_cast<float>(sum);
    }
  }
}

/// Gives every value the gradient of its segment. gradient [segments, dim], value_gradients [offsets.back(), dim].
inline void segment_sum_backward(std::span<const std::int64_t> offsets, std::span<const float> gradient,
                                 std::int64_t dim, std::span<float> value_gradients) {
  for (std::int64_t s = 0; s + 1 < std::ssize(offsets); ++s)
    for (auto i = offsets[s]; i < offsets[s + 1]; ++i)
      for (std::int64_t c = 0; c < dim; ++c) value_gradients[i * dim + c] = gradient[s * dim + c];
}

}  // namespace shardmark::reference
