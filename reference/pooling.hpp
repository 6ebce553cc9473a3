// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "reference/named.hpp"

namespace shardmark::reference {

/// Selects how the rows x_i of a bag, with per-sample weights w_i (1 when absent), become its output:
///   none   every id is a bag of its own: w_i x_i
///   sum    sum_i w_i x_i
///   mean   sum_i w_i x_i / sum_i w_i
///   sqrtn  sum_i w_i x_i / sqrt(sum_i w_i^2)
///   max    max_i w_i x_i, column by column; its gradient goes in equal parts to the ids that attain it
/// An empty bag, or one whose divisor is 0, gives zero. (These are the definitions of TensorFlow's
/// embedding_lookup_sparse and segment_max, which HybridBackend and DeepRec share; HugeCTR says "average" for mean and
/// "concat" for none.)
enum class Pooling { none, sum, mean, sqrtn, max };

inline constexpr std::array poolings{
    Choice<Pooling>{"none", "no pooling: one vector per id", Pooling::none},
    Choice<Pooling>{"sum", "sum of the rows", Pooling::sum},
    Choice<Pooling>{"mean", "sum divided by the sum of the weights", Pooling::mean},
    Choice<Pooling>{"sqrtn", "sum divided by the root of the sum of the squared weights", Pooling::sqrtn},
    Choice<Pooling>{"max", "largest value of each column", Pooling::max},
};
constexpr auto choices_of(Pooling) { return Choices{"pooling", poolings}; }

/// Returns whether sums of rows are divided.
constexpr bool divides(Pooling pooling) { return pooling == Pooling::mean || pooling == Pooling::sqrtn; }

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::Pooling, reference::poolings, reference::divides;
}  // namespace shardmark
