// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <map>
#include <span>
#include <vector>

#include "reference/batch.hpp"
#include "reference/pooled_lookup.hpp"
#include "reference/rounding.hpp"
#include "reference/row_quantization.hpp"
#include "reference/row_values.hpp"
#include "reference/table.hpp"
#include "reference/test/float_optimizer.hpp"

namespace shardmark::reference {

/// A training step of one table as a correct program might evaluate it in fp32: terms of a sum in random order and in
/// random partial sums, multiply-adds fused or not, by chance. Only the divisors of the bags are double, as defined.
class FloatStep {
 public:
  struct Row {
    std::vector<float> values, state;
  };

  FloatStep(const Table& table, std::vector<Feature> features, const RowValues& rows, const GradientValues& gradients,
            std::uint32_t seed)
      : table_(table), features_(std::move(features)), initial_(rows), gradients_(gradients), fp32_(seed) {}

  std::vector<float> lookup(const Batch& batch, std::int64_t feature) {
    std::vector<float> output;
    for_each_bag(batch, feature, [&](std::int64_t, std::int64_t, const Ids& ids, const Weights& weights) {
      const double divisor = bag_divisor(pooling_of(feature), std::ssize(ids), weights);
      for (std::size_t c = 0; c < dim(); ++c) {
        const auto terms = products(ids, weights, c);
        if (pooling_of(feature) == Pooling::max)
          output.push_back(terms.empty() ? 0.0F : *std::ranges::max_element(terms));
        else
          output.push_back(divisor == 0.0 ? 0.0F : static_cast<float>(fp32_.sum(terms) / divisor));
      }
    });
    return output;
  }

  /// Of every row that samples [first, first + count) name, [dim].
  std::map<std::int64_t, std::vector<float>> gradients(const Batch& batch, std::int64_t step, std::int64_t first,
                                                       std::int64_t count) {
    std::map<std::int64_t, std::vector<std::vector<float>>> terms;  // by row and column
    for (std::int64_t f = 0; f < std::ssize(features_); ++f) {
      for_each_bag(batch, f, [&](std::int64_t sample, std::int64_t position, const Ids& ids, const Weights& weights) {
        if (sample < first || sample >= first + count) return;
        for (const std::int64_t id : ids) terms[id].resize(dim());
        for (std::size_t c = 0; c < dim(); ++c) {
          const float g = gradients_(step, f, sample, position, static_cast<std::int64_t>(c));
          const auto shares = gradients_of_products(pooling_of(f), ids, weights, c, g);
          for (std::size_t i = 0; i < ids.size(); ++i)
            terms[ids[i]][c].push_back(weights.empty() ? shares[i] : weights[i] * shares[i]);
        }
      });
    }
    std::map<std::int64_t, std::vector<float>> sums;
    for (auto& [id, columns] : terms)
      for (auto& column : columns) sums[id].push_back(fp32_.sum(column));
    return sums;
  }

  void update(const Batch& batch, std::int64_t step) {
    for (auto& [id, gradient] : gradients(batch, step, 0, batch.samples)) {
      FloatOptimizer(table_.optimizer, step + 1, fp32_).step(row(id).values, row(id).state, gradient);
      const RowRounding rounding{table_.value_type, table_.stochastic_rounding, initial_.seed, step + 1, 0, id};
      for (std::size_t c = 0; c < dim(); ++c)
        row(id).values[c] = rounding(row(id).values[c], static_cast<std::int64_t>(c));
    }
  }

  Row& row(std::int64_t id) {
    auto& row = rows_[id];
    if (row.values.empty()) {
      for (std::int64_t c = 0; c < table_.dim; ++c) row.values.push_back(initial_(0, id, c));
      const RowScale scale = row_scale(row.values);
      for (float& x : row.values)
        x = table_.value_type == ValueType::int8
                ? fp32_.multiply_add(scale.scale, static_cast<float>(scale.quantized(x)), scale.offset)
                : rounded_to(table_.value_type, x);
      for (std::int64_t i = 0; i < state_per_row(table_.optimizer.kind, table_.dim); ++i)
        row.state.push_back(initial_state(table_.optimizer, table_.dim, i));
    }
    return row;
  }

 private:
  using Ids = std::span<const std::int64_t>;
  using Weights = std::span<const float>;

  std::size_t dim() const { return static_cast<std::size_t>(table_.dim); }
  Pooling pooling_of(std::int64_t feature) const { return features_[feature].pooling; }

  template <class Visit>
  void for_each_bag(const Batch& batch, std::int64_t feature, Visit&& visit) {
    const auto bag_of = [&](std::int64_t sample, std::int64_t position, std::size_t begin, std::size_t count) {
      visit(sample, position, Ids(batch.indices).subspan(begin, count),
            batch.weights.empty() ? Weights() : Weights(batch.weights).subspan(begin, count));
    };
    for (std::int64_t s = 0; s < batch.samples; ++s) {
      const auto bag = static_cast<std::size_t>(feature * batch.samples + s);
      const auto begin = static_cast<std::size_t>(batch.offsets[bag]),
                 end = static_cast<std::size_t>(batch.offsets[bag + 1]);
      if (pooling_of(feature) != Pooling::none) {
        bag_of(s, 0, begin, end - begin);
      } else {
        for (std::size_t i = begin; i < end; ++i) bag_of(s, static_cast<std::int64_t>(i - begin), i, 1);
      }
    }
  }

  std::vector<float> products(const Ids& ids, const Weights& weights, std::size_t c) {
    std::vector<float> terms;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const float x = row(ids[i]).values[c];
      terms.push_back(weights.empty() ? x : weights[i] * x);
    }
    return terms;
  }

  std::vector<float> gradients_of_products(Pooling pooling, const Ids& ids, const Weights& weights, std::size_t c,
                                           float g) {
    const double divisor = bag_divisor(pooling, std::ssize(ids), weights);
    if (pooling != Pooling::max)
      return std::vector<float>(ids.size(), divisor == 0.0 ? 0.0F : static_cast<float>(g / divisor));
    auto terms = products(ids, weights, c);
    const float maximum = terms.empty() ? 0.0F : *std::ranges::max_element(terms);
    const auto ties = static_cast<float>(std::ranges::count(terms, maximum));
    for (float& term : terms) term = term == maximum ? g / ties : 0.0F;
    return terms;
  }

  Table table_;
  std::vector<Feature> features_;
  RowValues initial_;
  GradientValues gradients_;
  FloatArithmetic fp32_;
  std::map<std::int64_t, Row> rows_;
};

}  // namespace shardmark::reference
