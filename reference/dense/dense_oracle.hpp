// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "reference/dense/dense_pass.hpp"
#include "reference/dense/uncertain.hpp"
#include "reference/touched_table.hpp"

namespace shardmark::reference {

/// Holds for each result the right value, and the standard error of fp32 (Uncertain).
using UncertainResult = DenseResult<Uncertain>;

/// Sums the gradients of all parameters over samples that may be spread over ranks and parts, and bounds what fp32 may
/// make of the sum.
struct DenseGradients {
  std::vector<double> values;       ///< [parameters], in the order of dense_blocks
  std::vector<double> squares;      ///< [parameters], of the standard errors in sums
  std::vector<double> own_squares;  ///< [parameters], of those of each sample alone
  double loss = 0.0, loss_square = 0.0, own_loss_square = 0.0;

  explicit DenseGradients(std::int64_t parameters = 0)
      : values(static_cast<std::size_t>(parameters)), squares(values.size()), own_squares(values.size()) {}
  void add(const UncertainResult& part);
  void add(const DenseGradients& other);
  /// Accounts for samples whose roundings are the same, after all parts. alike: samples of the batch of which one is
  /// like another in everything that reaches the loss.
  void count_alike(double alike);
  /// Accounts for fp32 that sums all parts of `samples` samples at once, after all of them: its partial sums are larger
  /// than those of parts; and so is what products in TF32 lose to one side.
  void sum_in_one(std::int64_t samples, DenseMath math = DenseMath::fp32);
};

/// Returns the standard error of a value that an optimizer has changed, which may differ by `bound`. Where a step is
/// linear, what a bound of `confidence` standard errors of the gradient becomes is as many standard errors again. Else
/// it may be a step of the other sign, and either happens.
constexpr double error_of_bound(double bound, OptimizerKind kind) {
  return is_linear(kind) ? bound / Uncertain::confidence : bound;
}

/// Takes the weights of a model with layers through whole training steps, each weight with a bound: by how much another
/// correct evaluation may differ. A block is a table of which all rows are touched.
class DenseOracle {
 public:
  /// Throws InputError as check_dense and check_dense_optimizer do.
  DenseOracle(const DenseSpec& spec, const Optimizer& optimizer, std::uint64_t seed, std::int64_t global_batch,
              DenseMath math = DenseMath::fp32);

  const DenseSpec& spec() const { return spec_; }
  std::int64_t parameter_count() const;

  /// Runs forward and backward of some samples of a global batch, with the weights as they are.
  UncertainResult pass(const DenseInput<Uncertain>& input) const;
  /// Takes optimizer step number t, from 1, by the gradients of all samples.
  void update(std::int64_t t, const DenseGradients& gradients);

  /// Returns by block: rows, columns, optimizer and its state as those of a table.
  const std::vector<TouchedTable>& blocks() const { return blocks_; }

 private:
  DenseParameters<Uncertain> parameters() const;

  DenseSpec spec_;
  std::int64_t global_batch_;
  DenseMath math_;
  std::vector<TouchedTable> blocks_;
  DenseParameters<Uncertain> parameters_;  ///< of `blocks_`, as products read them
};

}  // namespace shardmark::reference
