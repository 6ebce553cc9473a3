// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "reference/named.hpp"

namespace shardmark {

/// How the rows x_i of a bag, with per-sample weights w_i (1 when absent), become its output:
///   none   every id is a bag of its own: w_i x_i
///   sum    sum_i w_i x_i
///   mean   sum_i w_i x_i / sum_i w_i
///   sqrtn  sum_i w_i x_i / sqrt(sum_i w_i^2)
///   max    max_i w_i x_i, column by column; its gradient goes in equal parts to the ids that attain it
/// An empty bag, or one whose divisor is 0, gives zero. (The definitions of TensorFlow's embedding_lookup_sparse and
/// segment_max, which HybridBackend and DeepRec share; HugeCTR says "average" for mean and "concat" for none.)
enum class Pooling { none, sum, mean, sqrtn, max };

struct PoolingChoice {
  std::string_view name;
  std::string_view description;
  Pooling value;
};

inline constexpr std::array poolings{
    PoolingChoice{"none", "no pooling: one vector per id", Pooling::none},
    PoolingChoice{"sum", "sum of the rows", Pooling::sum},
    PoolingChoice{"mean", "sum divided by the sum of the weights", Pooling::mean},
    PoolingChoice{"sqrtn", "sum divided by the root of the sum of the squared weights", Pooling::sqrtn},
    PoolingChoice{"max", "largest value of each column", Pooling::max},
};

inline Pooling pooling_named(std::string_view name) { return choice_named(poolings, "pooling", name).value; }
constexpr std::string_view name_of(Pooling pooling) { return poolings[static_cast<std::size_t>(pooling)].name; }

}  // namespace shardmark
