// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "kernels/dense/cross.hpp"
#include "kernels/dense/interaction.hpp"
#include "kernels/launch_graph.hpp"
#include "reference/dense/dense_spec.hpp"

namespace shardmark::kernels {

/// Holds the samples of one rank that a model with layers reads, and the gradients that it writes, in the memory of
/// DenseExecution.
struct DenseBatch {
  std::int64_t samples = 0;
  std::int64_t global_batch = 0;               ///< samples of all ranks, over which the loss is a mean
  std::span<const ConstFloats> vectors;        ///< pooled, by feature, [samples, width of the feature]
  ConstFloats numerical;                       ///< [samples, numerical features]
  const float* labels = nullptr;               ///< [samples], 0 or 1
  std::span<const Floats> vector_gradients{};  ///< as `vectors`
};

/// Names the parameters [begin, end).
struct ParameterRange {
  std::int64_t begin = 0, end = 0;
};

/// Returns how many numbers DenseLayers keeps for each sample of a batch.
std::int64_t dense_numbers_per_sample(const DenseSpec& spec);

/// Computes forward and backward of a model with layers (reference/dense/dense_pass.hpp) in fp32, its parameters and
/// their gradients one after the other in the order of reference::dense_blocks. A batch that is no larger than those
/// before allocates nothing. On a device the kernels of a batch that comes again are launched together (LaunchGraphs),
/// but for launch_one_by_one().
class DenseLayers {
 public:
  /// Throws InputError as check_dense does.
  explicit DenseLayers(const DenseSpec& spec);

  const DenseSpec& spec() const { return spec_; }
  /// Sets how products are computed from the next forward() on.
  void set_math(DenseMath math) { math_ = math; }
  /// Lets kernels be launched one by one from the next forward() on, where other threads launch on the same stream:
  /// what they launch while this one records would become part of the recording.
  void launch_one_by_one(bool on) { one_by_one_ = on; }
  const Array<DenseExecution, float>& parameters() const { return parameters_; }
  const Array<DenseExecution, float>& gradients() const { return gradients_; }

  /// Computes logits and loss; on a device, the host does not wait for it. Throws std::invalid_argument for extents
  /// that BLAS does not take.
  void forward(const DenseBatch& batch);
  /// Return the logits of the last forward(), and the samples' share in the loss, for which the host waits.
  Array<DenseExecution, float> logits() const {
    return Array<DenseExecution, float>(logits_.data, static_cast<std::size_t>(logits_.rows));
  }
  double loss() const;

  /// The backward pass of that batch is that of its stages 0 to stages() - 1, one after the other, begin to end - 1 in
  /// a call.
  std::int64_t stages() const { return std::ssize(stages_); }
  void backward(const DenseBatch& batch, std::int64_t begin, std::int64_t end);
  /// Returns the parameters whose gradients a stage completes; they go from the last parameters to the first.
  ParameterRange completed_by(std::int64_t stage) const;

 private:
  enum class Part { top, cross, interaction, bottom };
  struct Stage {
    Part part;
    std::int64_t layer = 0;
  };
  struct Layer {
    std::int64_t inputs, outputs, first;  ///< first: its first parameter
  };

  /// Sets what does not change while kernels compute a batch: places of matrices and lists of vectors.
  void prepare(const DenseBatch& batch);
  void launch_forward(const DenseBatch& batch);
  void launch_backward(const DenseBatch& batch, std::int64_t stage);
  /// Calls launches(), or launches what they were: of a batch, from stage `begin` to `end` or, -1, forward.
  template <class Launches>
  void launch(const DenseBatch& batch, std::int64_t begin, std::int64_t end, const Launches& launches);
  void add_layers(std::int64_t inputs, const std::vector<std::int64_t>& outputs, std::vector<Layer>& layers);
  void place(std::int64_t samples);
  Floats weight(const Layer& layer, float* of) const { return {of + layer.first, layer.outputs, layer.inputs}; }
  float* bias(const Layer& layer, float* of) const { return of + layer.first + layer.outputs * layer.inputs; }
  CrossWeights cross_weights(std::int64_t layer) const;
  Floats lead() const;
  /// Returns the vectors of features, or their gradients, and before them `lead` where it is one of those that dlrm
  /// multiplies.
  template <class T>
  std::vector<MatrixView<T>> with_lead(std::span<const MatrixView<T>> of_features, MatrixView<T> lead) const;

  void interact();
  void interact_backward(const Floats& x);
  void cross_backward(std::int64_t layer, const Floats& gradient);
  /// Return, of the gradient of what the interaction makes, that of the vectors and that of the lead.
  Floats of_vectors(const Floats& x) const;
  Floats of_lead(const Floats& x) const;

  DenseSpec spec_;
  DenseMath math_ = DenseMath::fp32;
  std::vector<Layer> bottom_layers_, top_layers_;
  std::vector<std::int64_t> cross_first_;
  std::vector<Stage> stages_;
  std::int64_t parameter_count_ = 0;
  Array<DenseExecution, float> parameters_, gradients_;
  Array<DenseExecution, double> loss_ = allocate<DenseExecution, double>("shardmark::loss", 1);
  double share_ = 0.0;  ///< of a sample in the loss

  Scratch<DenseExecution, float> memory_{"shardmark::dense_activations"};
  std::vector<Floats> bottom_, top_;  ///< outputs of layers; the last of the bottom MLP is lead()
  std::vector<Floats> x_, v_, t_;     ///< x_.back(): what enters the top MLP; before it those of cross layers
  Floats logits_, one_, other_, of_x0_, dt_, dv_;  ///< one_, other_: gradients in flight, in turns
  std::vector<Floats> gradient_of_;  ///< by stage: the gradient that it begins with, and what the last makes
  MatrixList<const float> vectors_;  ///< with lead() where it takes part in the products
  MatrixList<float> vector_gradients_;
  PartialSums sums_;
  DotTiles tiles_;
  LaunchGraphs graphs_;
  bool one_by_one_ = false;
};

}  // namespace shardmark::kernels
