// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <map>
#include <random>
#include <span>
#include <vector>

#include "reference/batch.hpp"
#include "reference/pooled_lookup.hpp"
#include "reference/row_values.hpp"
#include "reference/table.hpp"

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
      : table_(table), features_(std::move(features)), initial_(rows), gradients_(gradients), random_(seed) {}

  std::vector<float> lookup(const Batch& batch, std::int64_t feature) {
    std::vector<float> output;
    for_each_bag(batch, feature, [&](std::int64_t, std::int64_t, std::size_t begin, std::size_t count) {
      const auto weights = weights_of(batch, begin, count);
      const double divisor = bag_divisor(pooling_of(feature), static_cast<std::int64_t>(count), weights);
      for (std::size_t c = 0; c < dim(); ++c) {
        std::vector<float> terms;
        for (std::size_t i = 0; i < count; ++i) {
          const float x = row(batch.indices[begin + i]).values[c];
          terms.push_back(weights.empty() ? x : weights[i] * x);
        }
        output.push_back(divisor == 0.0 ? 0.0F : static_cast<float>(sum(terms) / divisor));
      }
    });
    return output;
  }

  void update(const Batch& batch, std::int64_t step) {
    std::map<std::int64_t, std::vector<std::vector<float>>> terms;  // by row and column
    for (std::int64_t f = 0; f < std::ssize(features_); ++f) {
      for_each_bag(batch, f, [&](std::int64_t sample, std::int64_t position, std::size_t begin, std::size_t count) {
        const auto weights = weights_of(batch, begin, count);
        const double divisor = bag_divisor(pooling_of(f), static_cast<std::int64_t>(count), weights);
        if (divisor == 0.0) return;
        for (std::size_t i = 0; i < count; ++i) {
          auto& columns = terms[batch.indices[begin + i]];
          columns.resize(dim());
          for (std::size_t c = 0; c < dim(); ++c) {
            const auto g =
                static_cast<float>(gradients_(step, f, sample, position, static_cast<std::int64_t>(c)) / divisor);
            columns[c].push_back(weights.empty() ? g : weights[i] * g);
          }
        }
      });
    }
    for (auto& [id, columns] : terms) {
      std::vector<float> gradient;
      for (auto& column : columns) gradient.push_back(sum(column));
      update_row(row(id), gradient);
    }
  }

  Row& row(std::int64_t id) {
    auto& row = rows_[id];
    if (row.values.empty()) {
      for (std::int64_t c = 0; c < table_.dim; ++c) row.values.push_back(initial_(0, id, c));
      row.state.resize(static_cast<std::size_t>(state_per_row(table_.optimizer.kind, table_.dim)),
                       table_.optimizer.initial_accumulator);
    }
    return row;
  }

 private:
  std::size_t dim() const { return static_cast<std::size_t>(table_.dim); }
  Pooling pooling_of(std::int64_t feature) const { return features_[static_cast<std::size_t>(feature)].pooling; }
  bool by_chance() { return random_() % 2 == 0; }

  static std::span<const float> weights_of(const Batch& batch, std::size_t begin, std::size_t count) {
    return batch.weights.empty() ? std::span<const float>() : std::span(batch.weights).subspan(begin, count);
  }

  template <class Visit>
  void for_each_bag(const Batch& batch, std::int64_t feature, Visit&& visit) {
    for (std::int64_t s = 0; s < batch.samples; ++s) {
      const auto bag = static_cast<std::size_t>(feature * batch.samples + s);
      const auto begin = static_cast<std::size_t>(batch.offsets[bag]),
                 end = static_cast<std::size_t>(batch.offsets[bag + 1]);
      if (pooling_of(feature) != Pooling::none) {
        visit(s, std::int64_t{0}, begin, end - begin);
      } else {
        for (std::size_t i = begin; i < end; ++i) visit(s, static_cast<std::int64_t>(i - begin), i, std::size_t{1});
      }
    }
  }

  /// Every term goes to one of up to four partial sums, which are added in turn.
  float sum(std::vector<float>& terms) {
    std::shuffle(terms.begin(), terms.end(), random_);
    std::vector<float> partial(1 + random_() % 4, 0.0F);
    for (const float term : terms) partial[random_() % partial.size()] += term;
    float total = 0.0F;
    for (const float part : partial) total += part;
    return total;
  }

  float multiply_add(float a, float b, float c) { return by_chance() ? std::fma(a, b, c) : a * b + c; }

  void update_row(Row& row, std::vector<float> gradient) {
    const float lr = table_.optimizer.learning_rate, eps = table_.optimizer.epsilon;
    if (table_.optimizer.kind == OptimizerKind::rowwise_adagrad) {
      std::vector<float> squares;
      for (const float g : gradient) squares.push_back(g * g);
      row.state[0] += sum(squares) / static_cast<float>(gradient.size());
    }
    for (std::size_t c = 0; c < gradient.size(); ++c) {
      if (table_.optimizer.kind == OptimizerKind::sgd) {
        row.values[c] = multiply_add(-lr, gradient[c], row.values[c]);
        continue;
      }
      const bool per_element = table_.optimizer.kind == OptimizerKind::adagrad;
      float& s = row.state[per_element ? c : 0];
      if (per_element) s = multiply_add(gradient[c], gradient[c], s);
      const float root = std::sqrt(s) + eps;
      row.values[c] = by_chance() ? row.values[c] - lr * gradient[c] / root
                                  : multiply_add(-(lr / root), gradient[c], row.values[c]);
    }
  }

  Table table_;
  std::vector<Feature> features_;
  RowValues initial_;
  GradientValues gradients_;
  std::mt19937 random_;
  std::map<std::int64_t, Row> rows_;
};

}  // namespace shardmark::reference
