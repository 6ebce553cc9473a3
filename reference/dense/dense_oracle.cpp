// SPDX-License-Identifier: Apache-2.0
#include "reference/dense/dense_oracle.hpp"

#include <algorithm>

#include "reference/bounded_step.hpp"
#include "reference/dense/dense_step.hpp"

namespace shardmark::reference {
namespace {

/// Returns a table of all rows of a block, which starts from `initial`.
TouchedTable table_of(const DenseBlock& block, const Optimizer& optimizer, std::int64_t number,
                      const Matrix<float>& initial) {
  const Table table{.name = block.name, .rows = block.rows, .dim = block.columns, .optimizer = optimizer};
  TouchedTable touched(table, number, 0, [initial](std::int64_t row, std::span<float> values, std::span<float>) {
    std::ranges::copy(initial.row(row), values.begin());
  });
  for (std::int64_t row = 0; row < block.rows; ++row) touched.touch(row);
  return touched;
}

}  // namespace

void DenseGradients::add(const UncertainResult& part) {
  std::size_t at = 0;
  for (const auto& block : part.parameter_gradients)
    for (const Uncertain& g : block.values) {
      values[at] += g.value;
      squares[at] += g.in_sums * g.in_sums;
      own_squares[at] += g.error * g.error;
      ++at;
    }
  loss += part.loss.value;
  loss_square += part.loss.in_sums * part.loss.in_sums;
  own_loss_square += part.loss.error * part.loss.error;
}

void DenseGradients::add(const DenseGradients& other) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] += other.values[i];
    squares[i] += other.squares[i];
    own_squares[i] += other.own_squares[i];
  }
  loss += other.loss;
  loss_square += other.loss_square;
  own_loss_square += other.own_loss_square;
}

void DenseGradients::count_alike(double alike) {
  for (std::size_t i = 0; i < squares.size(); ++i) squares[i] += (alike - 1.0) * own_squares[i];
  loss_square += (alike - 1.0) * own_loss_square;
}

void DenseGradients::sum_in_one(std::int64_t samples, DenseMath math) {
  double square = unit_roundoff * unit_roundoff * static_cast<double>(samples);
  if (math == DenseMath::tf32) square += Uncertain::of_tf32_result * Uncertain::of_tf32_result;
  for (std::size_t i = 0; i < values.size(); ++i) squares[i] += square * values[i] * values[i];
  loss_square += square * loss * loss;
}

DenseOracle::DenseOracle(const DenseSpec& spec, const Optimizer& optimizer, std::uint64_t seed,
                         std::int64_t global_batch, DenseMath math)
    : spec_(spec), global_batch_(global_batch), math_(math) {
  check_dense_optimizer(optimizer);
  const auto blocks = dense_blocks(spec);
  const auto initial = initial_dense(spec, seed);
  for (std::size_t b = 0; b < blocks.size(); ++b)
    blocks_.push_back(table_of(blocks[b], optimizer, static_cast<std::int64_t>(b), initial[b]));
  parameters_ = parameters();
}

std::int64_t DenseOracle::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& block : blocks_) count += block.table().rows * block.table().dim;
  return count;
}

DenseParameters<Uncertain> DenseOracle::parameters() const {
  DenseParameters<Uncertain> all;
  const auto samples = static_cast<double>(global_batch_);
  const double shared = std::sqrt(samples);
  for (const auto& block : blocks_) {
    const bool read_in_tf32 = math_ == DenseMath::tf32 && !block.table().name.ends_with(".bias");
    Matrix<Uncertain>& to = all.emplace_back(block.table().rows, block.table().dim);
    for (std::int64_t row = 0; row < to.rows; ++row)
      for (std::int64_t c = 0; c < to.columns; ++c) {
        const double error = error_of_bound(block.value_bounds(row)[c], block.table().optimizer.kind);
        const Uncertain value(double{block.values(row)[c]}, error, shared * error);
        to.at(row, c) = read_in_tf32 ? as_shared_operand(value, samples) : value;
      }
  }
  return all;
}

UncertainResult DenseOracle::pass(const DenseInput<Uncertain>& input) const {
  return dense_pass(spec_, parameters_, input, global_batch_, math_);
}

void DenseOracle::update(std::int64_t t, const DenseGradients& gradients) {
  const std::span<const double> values(gradients.values);
  std::size_t at = 0;
  for (TouchedTable& block : blocks_) {
    const auto dim = static_cast<std::size_t>(block.table().dim);
    std::vector<double> errors(dim);
    for (std::int64_t row = 0; row < block.table().rows; ++row) {
      for (std::size_t c = 0; c < dim; ++c) errors[c] = Uncertain::confidence * std::sqrt(gradients.squares[at + c]);
      bounded_step(block, row, t, values.subspan(at, dim), errors);
      at += dim;
    }
  }
  parameters_ = parameters();
}

}  // namespace shardmark::reference
