// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"

namespace shardmark::kernels {

/// Returns where the segments of one level of nested offsets begin and end in the values, [segments of the level + 1]:
/// segment s of level k holds [levels[k](s), levels[k](s + 1)) of the segments of level k + 1 or, on the last level, of
/// the values. Level 0 gives one vector per sample, level 1 one per sequence slot (HybridBackend's emb_segment_rank).
/// Throws InputError when there is no such level.
template <class Exec>
ConstArray<Exec, std::int64_t> segment_offsets(const Exec& exec,
                                               const std::vector<ConstArray<Exec, std::int64_t>>& levels,
                                               std::int64_t level, Scratch<Exec, std::int64_t>& scratch);

/// Sets output[s] to the sum of the values of segment s, in order, in fp32; to 0 where it is empty. One thread per
/// segment.
///   offsets: [segments + 1] from 0 (segment_offsets);  values: [offsets(segments), dim];  output: [segments, dim]
template <class Exec>
void segment_sum(const Exec& exec, ConstArray<Exec, std::int64_t> offsets, ConstArray<Exec, float> values,
                 std::int64_t dim, const Array<Exec, float>& output);

/// Copies to every value the gradient of its segment.
///   offsets: as segment_sum had them;  gradients: [segments, dim];  value_gradients: [offsets(segments), dim]
template <class Exec>
void segment_sum_backward(const Exec& exec, ConstArray<Exec, std::int64_t> offsets, ConstArray<Exec, float> gradients,
                          std::int64_t dim, const Array<Exec, float>& value_gradients);

}  // namespace shardmark::kernels
