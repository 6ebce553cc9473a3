// SPDX-License-Identifier: Apache-2.0
#include "reference/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "reference/bounded_step.hpp"
#include "reference/error.hpp"
#include "reference/pooled_lookup.hpp"
#include "reference/row_gradients.hpp"

namespace shardmark::reference {
namespace {

bool adds_only(Pooling pooling) { return pooling == Pooling::sum || pooling == Pooling::none; }

void check_exact(const BoundedSum& sum, const Table& table) {
  if (!sum.exact())
    throw InputError("exact mode: the sums of table " + table.name +
                     " grow beyond 2^24 units, so they are no longer exact in fp32; use a smaller batch, fewer checked "
                     "steps or exact=false");
}

/// Rows that stay as they are, or lose a gradient times a power of two: a product that fp32 does not round.
bool steps_exactly(const Optimizer& optimizer) {
  return optimizer.kind == OptimizerKind::none ||
         (optimizer.kind == OptimizerKind::sgd && optimizer.weight_decay == 0.0F &&
          is_power_of_two(optimizer.learning_rate));
}

void bound_sums(const TouchedTable& table, const Bag& bag, std::span<const std::int64_t> slots, Pooling pooling,
                ValueType wire, bool bit_exact, std::span<float> bounds) {
  std::vector<BoundedSum> sums(bounds.size());
  std::vector<double> uncertain(bounds.size());
  std::vector<Travelling> travelling(bounds.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto largest = wire == ValueType::fp32 ? 0.0 : largest_magnitude(table, slots[i]);
    for (std::size_t c = 0; c < bounds.size(); ++c) {
      const double x = table.values(slots[i])[c], bound = table.value_bounds(slots[i])[c];
      sums[c].add(bag.weight(i) * x);
      uncertain[c] += std::abs(bag.weight(i)) * bound;
      travelling[c].add(bag.weight(i), std::abs(x) + bound, largest);
    }
  }
  if (bit_exact) {
    for (const auto& sum : sums) check_exact(sum, table.table());
    return;
  }
  const double divisor = bag_divisor(pooling, std::ssize(bag.ids), bag.weights);
  if (divisor == 0.0) return;
  for (std::size_t c = 0; c < bounds.size(); ++c)
    bounds[c] =
        static_cast<float>((sums[c].bound() + uncertain[c] + wire_bound(wire, travelling[c])) / std::abs(divisor));
}

/// The maximum lies between the largest lower and the largest upper end of its terms.
void bound_maxima(const TouchedTable& table, const Bag& bag, std::span<const std::int64_t> slots, ValueType wire,
                  std::span<const float> values, std::span<float> bounds) {
  if (slots.empty()) return;
  for (std::size_t c = 0; c < bounds.size(); ++c) {
    double low = -std::numeric_limits<double>::infinity(), high = low;
    for (const auto& [product, error] : max_terms(table, slots, bag.weights, c, wire)) {
      low = std::max(low, product - error);
      high = std::max(high, product + error);
    }
    bounds[c] = static_cast<float>(std::max(values[c] - low, high - values[c]));
  }
}

}  // namespace

Oracle::Oracle(const std::vector<Table>& tables, std::vector<Feature> features, const RowValues& rows,
               const GradientValues& gradients, WireTypes wire)
    : features_(std::move(features)), gradients_(gradients), wire_(wire) {
  for (const auto& table : tables) {
    tables_.emplace_back(table, std::ssize(tables_), rows);
    bit_exact_.push_back(wire == WireTypes{} && rows.unit > 0.0F && table.value_type != ValueType::int8 &&
                         steps_exactly(table.optimizer));
  }
  for (const auto& feature : features_)
    if (!adds_only(feature.pooling)) bit_exact_[feature.table] = false;
}

Expected Oracle::lookup(const Batch& batch, std::int64_t feature, std::int64_t first, std::int64_t count) {
  Expected expected;
  for_each_bag(batch, feature, features_[feature].pooling, first, count,
               [&](const Bag& bag) { look_up(bag, feature, expected); });
  return expected;
}

void Oracle::look_up(const Bag& bag, std::int64_t feature, Expected& expected) {
  const auto& [name, number, pooling, hotness] = features_[feature];
  TouchedTable& table = tables_[number];
  std::vector<std::int64_t> slots;
  for (const std::int64_t id : bag.ids) slots.push_back(table.touch(id));
  const std::size_t at = expected.values.size(), dim = static_cast<std::size_t>(table.table().dim);
  expected.values.resize(at + dim);
  expected.bounds.resize(at + dim);
  const auto values = std::span(expected.values).subspan(at), bounds = std::span(expected.bounds).subspan(at);
  pool_bag(
      pooling, [&](std::int64_t id) { return table.values(table.find(id)); }, bag.ids, bag.weights, values);
  if (pooling == Pooling::max)
    bound_maxima(table, bag, slots, wire_.forward, values, bounds);
  else
    bound_sums(table, bag, slots, pooling, wire_.forward, bit_exact(number), bounds);
}

void Oracle::update(const Batch& batch, std::int64_t step) {
  for (std::int64_t t = 0; t < std::ssize(tables_); ++t)
    if (table(t).table().optimizer.kind != OptimizerKind::none) update_table(batch, step, t);
}

void Oracle::update_table(const Batch& batch, std::int64_t step, std::int64_t number) {
  TouchedTable& table = tables_[number];
  const bool summed_as_given =
      wire_.backward == ValueType::fp32 && std::ranges::none_of(features_, [&](const Feature& feature) {
        return feature.table == number && (feature.pooling == Pooling::mean || feature.pooling == Pooling::sqrtn);
      });
  RowGradients gradients = sum_gradients(table, features_, gradients_, batch, step, wire_);
  std::vector<double> gradient(static_cast<std::size_t>(table.table().dim)), errors(gradient.size());
  for (const std::int64_t slot : gradients.slots()) {
    const auto sums = gradients.of(slot);
    std::ranges::transform(sums, gradient.begin(), [](const GradientSum& g) { return g.sum.value; });
    if (bit_exact(number)) {
      for (const auto& [sum, uncertain] : sums) check_exact(sum, table.table());
      exact_step(table, slot, step + 1, gradient);
    } else {
      std::ranges::transform(sums, errors.begin(), [&](const GradientSum& g) {
        return g.uncertain + (summed_as_given && g.sum.exact() ? 0.0 : g.sum.bound());
      });
      bounded_step(table, slot, step + 1, gradient, errors);
    }
  }
}

}  // namespace shardmark::reference
