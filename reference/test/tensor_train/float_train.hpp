// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "reference/tensor_train/initial_cores.hpp"
#include "reference/tensor_train/stored_cores.hpp"
#include "reference/test/float_step.hpp"

namespace shardmark::reference {

/// A training step of one tensor train as a correct program might evaluate it in fp32: each contraction from the first
/// core or from the last, its sums in any order, multiply-adds fused or not, the samples on two ranks whose gradients
/// of slices are added at the end; all by chance.
class FloatTt {
 public:
  using Row = FloatStep::Row;

  FloatTt(const Table& table, std::vector<Feature> features, const RowValues& initial, const GradientValues& gradients,
          std::uint32_t seed)
      : table_(table),
        shape_(tensor_train_shape(table)),
        seed_(initial.seed),
        rows_(contracted(table), std::move(features), initial, gradients, seed + 7),
        fp32_(seed) {
    for (int t = 0; t < shape_.cores; ++t) {
      const auto entries = initial_core(table, shape_, 0, t, initial);
      const auto size = static_cast<std::size_t>(shape_.slice_elements(t));
      for (std::size_t slice = 0; slice * size < entries.size(); ++slice) {
        Row row;
        for (std::size_t e = 0; e < size; ++e)
          row.values.push_back(rounded_to(table.value_type, entries[slice * size + e]));
        for (std::int64_t i = 0; i < state_per_row(table.optimizer.kind, std::ssize(row.values)); ++i)
          row.state.push_back(initial_state(table.optimizer, std::ssize(row.values), i));
        cores_[t].push_back(row);
      }
    }
  }

  Row& slice(int t, std::int64_t slice) { return cores_[t][slice]; }

  std::vector<float> lookup(const Batch& batch, std::int64_t feature) {
    contract(batch);
    return rows_.lookup(batch, feature);
  }

  void update(const Batch& batch, std::int64_t step) {
    contract(batch);
    std::map<std::pair<int, std::int64_t>, std::vector<std::vector<float>>> terms;  // by core and slice, by element
    const std::int64_t half = batch.samples / 2;
    for (const auto& [first, count] : {std::pair{std::int64_t{0}, half}, std::pair{half, batch.samples - half}})
      for (const auto& [row, gradient] : rows_.gradients(batch, step, first, count))
        for (int t = 0; t < shape_.cores; ++t) {
          auto& of_slice = terms[{t, shape_.digits(row)[t]}];
          of_slice.resize(static_cast<std::size_t>(shape_.slice_elements(t)));
          const auto elements = slice_gradient(row, t, gradient);
          for (std::size_t e = 0; e < elements.size(); ++e) of_slice[e].push_back(elements[e]);
        }
    for (auto& [of, elements] : terms) {
      const auto [t, number] = of;
      std::vector<float> gradient;
      for (const auto& element : elements) gradient.push_back(fp32_.sum(element));
      Row& row = slice(t, number);
      FloatOptimizer(table_.optimizer, step + 1, fp32_).step(row.values, row.state, gradient);
      const RowRounding rounding{table_.value_type, table_.stochastic_rounding, seed_,
                                 step + 1,          core_number(0, t),          number};
      for (std::size_t e = 0; e < row.values.size(); ++e)
        row.values[e] = rounding(row.values[e], static_cast<std::int64_t>(e));
    }
  }

 private:
  struct Matrix {
    std::int64_t rows, columns;
    std::vector<float> values;
  };

  static Table contracted(Table table) {
    table.value_type = ValueType::fp32;
    return table;
  }

  /// a [m][k] times b [k][n].
  Matrix product(const Matrix& a, const Matrix& b) {
    Matrix c{a.rows, b.columns, {}};
    for (std::int64_t m = 0; m < a.rows; ++m)
      for (std::int64_t n = 0; n < b.columns; ++n) {
        std::vector<float> terms;
        float fused = 0.0F;
        for (std::int64_t k = 0; k < a.columns; ++k) {
          const float x = a.values[m * a.columns + k], y = b.values[k * b.columns + n];
          terms.push_back(x * y);
          fused = std::fma(x, y, fused);
        }
        c.values.push_back(fp32_.by_chance() ? fused : fp32_.sum(terms));
      }
    return c;
  }

  Matrix transposed(const Matrix& a) {
    Matrix b{a.columns, a.rows, {}};
    for (std::int64_t n = 0; n < a.columns; ++n)
      for (std::int64_t m = 0; m < a.rows; ++m) b.values.push_back(a.values[m * a.columns + n]);
    return b;
  }

  static Matrix as(Matrix a, std::int64_t rows) {
    a.columns = std::ssize(a.values) / rows;
    a.rows = rows;
    return a;
  }

  /// Cores [begin, end) of a row: [r_begin][q_begin .. q_(end-1) r_end].
  Matrix contract(std::int64_t row, int begin, int end) {
    const auto digits = shape_.digits(row);
    const auto core = [&](int t) {
      return Matrix{shape_.r[t], shape_.q[t] * shape_.r[t + 1], cores_[t][digits[t]].values};
    };
    if (begin == end) return {1, 1, {1.0F}};
    const bool from_first = fp32_.by_chance();
    Matrix result = core(from_first ? begin : end - 1);
    for (int t = begin + 1; from_first && t < end; ++t)
      result = as(product(as(result, std::ssize(result.values) / shape_.r[t]), core(t)), shape_.r[begin]);
    for (int t = end - 2; !from_first && t >= begin; --t) {
      const Matrix left = core(t);
      result = as(product(as(left, shape_.r[t] * shape_.q[t]), as(result, shape_.r[t + 1])), shape_.r[t]);
    }
    return result;
  }

  void contract(const Batch& batch) {
    for (const std::int64_t row : std::set(batch.indices.begin(), batch.indices.end()))
      rows_.row(row).values = contract(row, 0, shape_.cores).values;
  }

  /// prefix^T [r_t][Q_t] times the gradient [Q_t][q_t][rest] times suffix^T [rest][r_(t+1)], from either side.
  std::vector<float> slice_gradient(std::int64_t row, int t, const std::vector<float>& gradient) {
    const Matrix prefix = transposed(as(contract(row, 0, t), t == 0 ? 1 : product_of(0, t)));
    const Matrix suffix = transposed(as(contract(row, t + 1, shape_.cores), shape_.r[t + 1]));
    const std::int64_t left = product_of(0, t);
    const auto times_prefix = [&](const Matrix& x) { return product(prefix, as(x, left)); };
    const auto times_suffix = [&](const Matrix& x) {
      return product(as(x, std::ssize(x.values) / suffix.rows), suffix);
    };
    const Matrix x{1, std::ssize(gradient), gradient};
    return fp32_.by_chance() ? times_suffix(times_prefix(x)).values : times_prefix(times_suffix(x)).values;
  }

  std::int64_t product_of(int begin, int end) const {
    std::int64_t product = 1;
    for (int t = begin; t < end; ++t) product *= shape_.q[t];
    return product;
  }

  Table table_;
  TensorTrainShape shape_;
  std::uint64_t seed_;
  FloatStep rows_;  ///< whose values are contracted before each use
  FloatArithmetic fp32_;
  std::array<std::vector<Row>, TensorTrainShape::most_cores> cores_;
};

}  // namespace shardmark::reference
