// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "reference/named.hpp"

namespace shardmark::reference {

/// Selects the model behind the embeddings: from the pooled embeddings of a sample to one logit, and back to their
/// gradients.
enum class DenseKind { none, exact, mlp, dlrm, dcnv2 };

inline constexpr std::array dense_kinds{
    Choice<DenseKind>{"none", "no model: gradients that depend on step, feature, sample and column alone",
                      DenseKind::none},
    Choice<DenseKind>{"exact", "a linear head of powers of two, not trained: all sums are exact", DenseKind::exact},
    Choice<DenseKind>{"mlp", "an MLP on the vectors and numerical features, one after the other", DenseKind::mlp},
    Choice<DenseKind>{"dlrm", "bottom MLP, dot products of each two vectors, top MLP", DenseKind::dlrm},
    Choice<DenseKind>{"dcnv2", "bottom MLP, low-rank cross layers, top MLP", DenseKind::dcnv2},
};
constexpr auto choices_of(DenseKind) { return Choices{"dense model", dense_kinds}; }

/// Returns whether the kind is described by a DenseSpec, whose weights are trained.
constexpr bool has_layers(DenseKind kind) {
  return kind == DenseKind::mlp || kind == DenseKind::dlrm || kind == DenseKind::dcnv2;
}

/// Describes a model with layers. For one sample, e_f being the pooled embedding of feature f, of widths[f] values, and
/// n its numerical features:
///   lead    = bottom MLP(n), with a ReLU behind each layer; n itself where there is none
///   mlp       x = (mean over `stride` neighbours of (e_0, e_1, ..), lead)
///   dlrm      x = (lead, dot products of each two of (lead, e_0, e_1, ..)), without lead if there is no bottom MLP
///   dcnv2     x = cross layers of (lead, e_0, e_1, ..)
///   logit   = top MLP(x), with a ReLU behind each layer but the last
/// Sources: distributed-embeddings' synthetic models (mlp); Naumov et al. 2019, facebookresearch/dlrm, the notebook of
/// HugeCTR's embedding collection (dlrm); Wang et al. 2021, MLPerf's DLRM-DCNv2 (dcnv2).
struct DenseSpec {
  DenseKind kind = DenseKind::mlp;
  std::vector<std::int64_t> widths = {};
  std::int64_t numerical_features = 0;
  std::vector<std::int64_t> bottom_mlp = {};  ///< outputs of its layers; empty: there is none
  std::vector<std::int64_t> top_mlp = {};     ///< the last is 1
  std::int64_t stride = 1;                    ///< mlp
  std::int64_t cross_layers = 0;              ///< dcnv2
  std::int64_t cross_rank = 0;                ///< dcnv2

  std::int64_t lead_width() const { return bottom_mlp.empty() ? numerical_features : bottom_mlp.back(); }
  std::int64_t width_of_vectors() const;

  /// Returns the number of vectors that dlrm multiplies with each other.
  std::int64_t dotted() const { return std::ssize(widths) + (bottom_mlp.empty() ? 0 : 1); }

  /// Returns the width of x.
  std::int64_t top_inputs() const;
};

/// Throws InputError when there is no such model: a kind without layers, no feature, a width, layer, stride or rank
/// below 1, a bottom MLP without numerical features, a top MLP that does not end in 1, vectors of different widths in
/// dlrm, nothing that reaches the top MLP.
void check_dense(const DenseSpec& spec);

/// Counts what a model keeps, and computes for one sample; a product with its sum is two flops.
struct DenseWork {
  std::int64_t parameters = 0;
  std::int64_t forward_flops = 0;
  std::int64_t backward_flops = 0;

  std::int64_t flops() const { return forward_flops + backward_flops; }
  bool operator==(const DenseWork&) const = default;
};

/// Returns the work of a model with layers:
///   layer of an MLP, a -> b          a b + b parameters, 2 a b flops
///   dots of n vectors of d values    n (n - 1) / 2 pairs of 2 d flops
///   cross layer of x [n], rank r     2 n r + n parameters, 4 n r + 3 n flops
///   mean over neighbours             a flop for each value
/// Backward takes twice as many, for inputs and parameters; the numerical features need no gradient. Throws InputError
/// as check_dense does.
DenseWork dense_work(const DenseSpec& spec);

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::DenseKind, reference::DenseSpec, reference::DenseWork, reference::check_dense, reference::dense_work,
    reference::has_layers;
}  // namespace shardmark
