// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace shardmark::reference {

/// Area under the receiver operating characteristic, exactly: the share of pairs of a positive and a negative sample
/// in which the positive one has the higher score, a tie counting half. By ranks (Mann and Whitney 1947), from 1, where
/// equal scores share the mean of theirs, P positives and N negatives:
///   (sum of the ranks of positives - P (P + 1) / 2) / (P N)
/// scores [n], logits or probabilities; labels [n], 0 or 1. Nothing when one class is missing. Throws InputError naming
/// the sample when a score is no number or a label neither 0 nor 1, and when there are not as many of both.
std::optional<double> area_under_curve(std::span<const float> scores, std::span<const float> labels);

}  // namespace shardmark::reference
