// SPDX-License-Identifier: Apache-2.0
#include "reference/row_gradients.hpp"

#include <algorithm>
#include <cmath>

#include "reference/batch.hpp"
#include "reference/pooled_lookup.hpp"

namespace shardmark::reference {

std::span<GradientSum> RowGradients::of(std::int64_t slot) {
  if (slot >= std::ssize(number_of_)) number_of_.resize(slot + 1, -1);
  auto& number = number_of_[slot];
  if (number < 0) {
    number = std::ssize(slots_);
    slots_.push_back(slot);
    sums_.resize(sums_.size() + dim_);
  }
  return row_of(sums_, number, static_cast<std::int64_t>(dim_));
}

double largest_magnitude(const TouchedTable& table, std::int64_t slot) {
  double largest = 0.0;
  for (std::size_t c = 0; c < table.values(slot).size(); ++c)
    largest = std::max(largest, double{std::abs(table.values(slot)[c])} + table.value_bounds(slot)[c]);
  return largest;
}

std::vector<MaxTerm> max_terms(const TouchedTable& table, std::span<const std::int64_t> slots,
                               std::span<const float> weights, std::size_t c, ValueType wire) {
  std::vector<MaxTerm> terms;
  const auto weight = [&](std::size_t i) { return weights.empty() ? 1.0 : double{weights[i]}; };
  double of_vector = 0.0;  // of all terms alike, so that the order of their ends is that of the terms
  for (std::size_t i = 0; wire == ValueType::int8 && i < slots.size(); ++i)
    of_vector = std::max(of_vector, std::abs(weight(i)) * largest_magnitude(table, slots[i]));
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const double product = fp32_product(weights, i, table.values(slots[i])[c]);
    const double bound = table.value_bounds(slots[i])[c];
    const double error = bound == 0.0 || weights.empty() ? bound
                                                         : std::abs(static_cast<double>(weights[i])) * bound +
                                                               rounding_error(2, std::abs(product) + bound);
    const Travelling part{std::abs(product) + error, of_vector, 1.0 + std::abs(weight(i))};
    terms.push_back({product, error + wire_bound(wire, part)});
  }
  return terms;
}

namespace {

/// Adds what is uncertain about the gradients of a maximum: where more than one id could be it within the bounds, each
/// of them may get anything between nothing and the whole gradient; ids that are one row with one weight are always
/// equal, and so are those without a bound.
void add_uncertain_shares(const TouchedTable& table, const Bag& bag, std::span<const std::int64_t> slots, std::size_t c,
                          double gradient, ValueType wire, RowGradients& sums) {
  const auto terms = max_terms(table, slots, bag.weights, c, wire);
  const auto low = [](const MaxTerm& term) { return term.product - term.error; };
  const double floor = low(*std::ranges::max_element(terms, {}, low));
  const double maximum = std::ranges::max_element(terms, {}, &MaxTerm::product)->product;
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (terms[i].product + terms[i].error >= floor) candidates.push_back(i);
  const bool certain = std::ranges::all_of(candidates, [&](std::size_t i) {
    const std::size_t first = candidates.front();
    return (slots[i] == slots[first] && bag.weight(i) == bag.weight(first)) ||
           (terms[i].error == 0.0 && terms[first].error == 0.0);
  });
  if (certain) return;
  const auto ties = std::ranges::count(terms, maximum, &MaxTerm::product);
  for (const std::size_t i : candidates) {
    const double share = terms[i].product == maximum ? std::abs(gradient) / static_cast<double>(ties) : 0.0;
    sums.of(slots[i])[c].uncertain += std::abs(bag.weight(i)) * std::max(share, std::abs(gradient) - share);
  }
}

/// Adds what the wire does to the gradient of a bag before, or to those of its rows after they are summed.
void add_wire_errors(const Bag& bag, std::span<const std::int64_t> slots, Pooling pooling,
                     std::span<const float> gradient, ValueType wire, RowGradients& sums) {
  const double divisor = bag_divisor(pooling, std::ssize(bag.ids), bag.weights);
  if (divisor == 0.0 || gradient.empty()) return;
  const double largest = std::ranges::max(gradient, {}, [](float g) { return std::abs(g); });
  for (std::size_t i = 0; i < slots.size(); ++i)
    for (std::size_t c = 0; c < gradient.size(); ++c) {
      Travelling part;
      part.add(bag.weight(i), gradient[c] / divisor, std::abs(largest / divisor));
      sums.of(slots[i])[c].uncertain += wire_bound(wire, part);
    }
}

}  // namespace

BagGradients bag_gradients(const GradientValues& gradients, std::int64_t step) {
  return [gradients, step](std::int64_t feature, const Bag& bag, std::span<float> gradient, std::span<float>) {
    for (std::size_t c = 0; c < gradient.size(); ++c)
      gradient[c] = gradients(step, feature, bag.sample, bag.position, static_cast<std::int64_t>(c));
  };
}

RowGradients sum_gradients(TouchedTable& table, const std::vector<Feature>& features, const BagGradients& gradients,
                           const Batch& batch, WireTypes wire) {
  const std::int64_t dim = table.table().dim;
  RowGradients sums(dim);
  std::vector<float> gradient(static_cast<std::size_t>(dim)), bounds(gradient.size()), largest(gradient.size());
  std::vector<std::int64_t> slots;
  for (std::int64_t f = 0; f < std::ssize(features); ++f) {
    const auto& feature = features[f];
    if (feature.table != table.number()) continue;
    for_each_bag(batch, f, feature, 0, batch.samples, [&](const Bag& bag) {
      std::ranges::fill(bounds, 0.0F);
      gradients(f, bag, gradient, bounds);
      for (std::size_t c = 0; c < gradient.size(); ++c) largest[c] = std::abs(gradient[c]) + bounds[c];
      slots.clear();
      for (const std::int64_t id : bag.ids) slots.push_back(table.touch(id));
      for (const std::int64_t slot : slots) sums.of(slot);
      const auto row_of_id = [&](std::int64_t id) { return table.values(table.find(id)); };
      pool_bag_backward(feature.pooling, row_of_id, bag.ids, bag.weights, gradient,
                        [&](std::size_t i, std::size_t c, double g) { sums.of(slots[i])[c].sum.add(g); });
      pool_bag_backward(feature.pooling, row_of_id, bag.ids, bag.weights, bounds,
                        [&](auto i, auto c, double bound) { sums.of(slots[i])[c].uncertain += std::abs(bound); });
      if (wire.backward != ValueType::fp32) add_wire_errors(bag, slots, feature.pooling, largest, wire.backward, sums);
      if (feature.pooling != Pooling::max || bag.ids.empty()) return;
      for (std::size_t c = 0; c < gradient.size(); ++c)
        add_uncertain_shares(table, bag, slots, c, largest[c], wire.forward, sums);
    });
  }
  return sums;
}

}  // namespace shardmark::reference
