// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "datasets/sample_source.hpp"
#include "reference/batch.hpp"
#include "reference/dense/dense_oracle.hpp"
#include "reference/oracle.hpp"
#include "reference/table.hpp"
#include "workloads/batches/step_input.hpp"
#include "workloads/measure/expected_outputs.hpp"
#include "workloads/measure/wrong_values.hpp"
#include "workloads/step/dense/dense_model.hpp"

namespace shardmark::workloads {

/// Counts how many vectors of a global batch share the error of a row (reference::Uncertain).
class SharedErrors {
 public:
  SharedErrors() = default;
  SharedErrors(const Batch& batch, std::span<const Feature> features);

  /// Returns the number of vectors that read the row of the bag that most vectors read; at least 1.
  double vectors(std::int64_t table, const reference::Bag& bag) const;

 private:
  std::vector<std::unordered_map<std::int64_t, std::int64_t>> vectors_of_row_;  ///< by table
};

/// Returns how many samples have one logit, of these [samples], at least 1. Whatever made logits equal in double, the
/// same inputs or layers that no input passes, makes the roundings behind equal too.
double most_alike(std::span<const double> logits);

/// Computes by the reference what the dense model of the options must give in the first steps. Every rank evaluates its
/// own samples, on all its threads; gradients are then shared, so that all know those of the whole batch.
class ExpectedDense {
 public:
  /// This is the number of samples of a rank that a thread evaluates together.
  static constexpr std::int64_t samples_at_once = 128;

  /// Takes options whose dense.kind is not none. wire: of the outputs and of the gradients of the rows; math: of the
  /// products. Throws InputError as make_dense_model does.
  ExpectedDense(const comm::Communicator& comm, const RunOptions& options, WireTypes wire, DenseMath math);

  /// Evaluates the next step, of the samples `own` of a global batch, whose expected outputs are given by feature.
  /// Throws InputError when samples have vectors of different widths, or sums of the exact head are not exact where
  /// they are to be. It may fail on some ranks alone.
  void evaluate(const datasets::Samples& batch, SampleRange own, const std::vector<ExpectedOutputs>& outputs);
  /// Returns what that step gives on all ranks: gradients for Oracle::update, valid until the next step, and computes
  /// the weights after it. Collective.
  reference::BagGradients share(std::int64_t step);

  /// Compares logits and loss of step number `step`; the loss counts on rank 0. Collective.
  void compare_outcomes(std::int64_t step, const DenseModel& model, WrongValues& wrong) const;
  /// Returns the parameters after the last step; empty where the model has no layers.
  std::span<const reference::TouchedTable> parameters() const;
  /// Compares weights and optimizer state after the last step.
  void compare_parameters(const DenseModel& model, WrongValues& wrong) const;

 private:
  struct Outcome {
    std::vector<double> logits, bounds;  ///< [own samples]
    double loss = 0.0, loss_bound = 0.0;
  };
  using Input = reference::DenseInput<reference::Uncertain>;
  Input input_of(const datasets::Samples& batch, std::int64_t first, const std::vector<ExpectedOutputs>& outputs,
                 std::int64_t begin, std::int64_t end) const;
  double error_of_output(float bound, std::int64_t feature) const;
  reference::UncertainResult result_of(const Input& input) const;
  void keep(const reference::UncertainResult& result, std::int64_t begin, std::int64_t samples);
  void copy_gradient(std::int64_t feature, const reference::Bag& bag, std::span<float> gradient,
                     std::span<float> bounds) const;

  const comm::Communicator& comm_;
  const RunOptions& options_;
  WireTypes wire_;
  DenseMath math_;
  SharedErrors shared_;
  std::vector<std::int64_t> widths_, first_of_;  ///< widths of the features; widths of all before each, in a sample
  std::optional<reference::DenseOracle> layers_;
  std::vector<Outcome> outcomes_;
  std::int64_t own_samples_ = 0;
  reference::DenseGradients gradients_;
  std::vector<float> own_values_, own_bounds_;  ///< gradients of this rank's vectors, by feature
  std::vector<std::int64_t> first_sample_;      ///< by rank, and all
  std::vector<float> values_, bounds_;          ///< those of all ranks, one after the other; bounds may all be 0: none
};

}  // namespace shardmark::workloads
