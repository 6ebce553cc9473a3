// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/named.hpp"

namespace shardmark {

/// How the outputs of the bottom MLP and of the embeddings meet.
enum class Interaction { concat, dot, cross };

inline constexpr std::array interactions{
    Choice<Interaction>{"concat", "one after the other", Interaction::concat},
    Choice<Interaction>{"dot", "products of each two of them, and the output of the bottom MLP (DLRM)",
                        Interaction::dot},
    Choice<Interaction>{"cross", "one after the other, then x <- x0 * (W V x + b) + x in each layer (DCNv2, low rank)",
                        Interaction::cross},
};
constexpr auto choices_of(Interaction) { return Choices{"interaction", interactions}; }

/// The half of a model behind the embeddings, as it was published: every rank has a copy and computes its own samples.
struct DenseHalf {
  std::int64_t numerical_features = 0;
  std::vector<std::int64_t> bottom_mlp =
      {};  ///< outputs of its layers, on the numerical features; empty: there is none
  Interaction interaction = Interaction::concat;
  std::int64_t stride = 1;        ///< concat: embeddings are averaged over so many neighbouring values first
  std::int64_t cross_layers = 0;  ///< cross
  std::int64_t cross_rank = 0;    ///< cross: columns of W and rows of V
  std::vector<std::int64_t> top_mlp = {};
};

/// What a dense half keeps, and computes for one sample; a product with its sum is two flops.
struct DenseWork {
  std::int64_t parameters = 0;
  std::int64_t forward_flops = 0;
  std::int64_t backward_flops = 0;

  std::int64_t flops() const { return forward_flops + backward_flops; }
  bool operator==(const DenseWork&) const = default;
};

/// Of a dense half behind embeddings with outputs of these widths, one for each feature:
///   layer of an MLP, a -> b     a b + b parameters, 2 a b flops
///   dot of n vectors of dim d   n (n - 1) / 2 pairs of 2 d flops, whose products and the bottom output go to the top
///   MLP cross layer of x [n]        2 n r + n parameters, 4 n r + 3 n flops average                     a flop for
///   each value
/// Backward takes twice as many, for inputs and parameters; the numerical features need no gradient. Throws InputError
/// where dot gets vectors of different dims.
DenseWork dense_work(const DenseHalf& dense, std::span<const std::int64_t> widths);

}  // namespace shardmark
