// SPDX-License-Identifier: Apache-2.0
#include "reference/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "reference/bounded_step.hpp"
#include "reference/error.hpp"
#include "reference/pooled_lookup.hpp"
#include "reference/row_gradients.hpp"
#include "reference/storage.hpp"

namespace shardmark::reference {
namespace {

bool adds_only(Pooling pooling) { return pooling == Pooling::sum || pooling == Pooling::none; }

void check_exact(const BoundedSum& sum, const Table& table) {
  if (!sum.exact())
    throw InputError("exact mode: the sums of table " + table.name +
                     " grow beyond 2^24 units, so they are no longer exact in fp32; use a smaller batch, fewer checked "
                     "steps or exact=false");
}

/// Returns whether rows stay as they are, or lose a gradient times 0 or a power of two: a product that fp32 does not
/// round.
bool steps_exactly(const Optimizer& optimizer) {
  const float rate = optimizer.learning_rate;
  return optimizer.kind == OptimizerKind::none ||
         (optimizer.kind == OptimizerKind::sgd && optimizer.weight_decay == 0.0F &&
          (rate == 0.0F || is_power_of_two(rate)));
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

bool is_bit_exact(const std::vector<Table>& tables, const std::vector<Feature>& features, std::int64_t number,
                  const RowValues& rows, WireTypes wire) {
  const Table& table = tables[number];
  return wire == WireTypes{} && !storage_of(table).computes() && rows.unit > 0.0F &&
         table.value_type != ValueType::int8 && steps_exactly(table.optimizer) &&
         std::ranges::all_of(features, [&](const Feature& f) { return f.table != number || adds_only(f.pooling); });
}

Oracle::Oracle(const std::vector<Table>& tables, std::vector<Feature> features, const RowValues& rows,
               const GradientValues& gradients, WireTypes wire)
    : features_(std::move(features)), gradients_(gradients), wire_(wire) {
  for (const auto& table : tables) {
    bit_exact_.push_back(is_bit_exact(tables, features_, std::ssize(tables_), rows, wire));
    add_table(table, rows);
  }
  absent_.resize(tables.size());
  summed_as_given_.assign(tables.size(), wire.backward == ValueType::fp32);
  for (const auto& feature : features_)
    if (divides(feature.pooling)) summed_as_given_[feature.table] = false;
}

void Oracle::add_table(const Table& table, const RowValues& initial) {
  const std::int64_t number = std::ssize(tables_);
  const StorageChoice& storage = storage_of(table);
  computed_.push_back(storage.computes() ? storage.computed(table, number, initial) : nullptr);
  dynamic_.push_back(storage.comes_and_goes ? std::make_unique<DynamicTable>(rules_of(table), table, number, initial)
                                            : nullptr);
  if (!storage.computes()) {
    tables_.emplace_back(table, number, initial);
    return;
  }
  Table computed = table;
  computed.value_type = ValueType::fp32;  // only the parts are stored
  tables_.emplace_back(computed, number, initial.seed,
                       [rows = computed_.back().get()](std::int64_t row, std::span<float> values,
                                                       std::span<float> bounds) { rows->row(row, values, bounds); });
}

void Oracle::bring(const Batch& batch, std::int64_t step) {
  for (std::int64_t t = 0; t < std::ssize(tables_); ++t) {
    if (!dynamic_[t]) continue;
    KeyUses uses;
    for (std::int64_t f = 0; f < std::ssize(features_); ++f)
      if (features_[f].table == t)
        for (std::int64_t i = batch.begin_of(f); i < batch.end_of(f); ++i) uses[batch.indices[i]] = 1;
    dynamic_[t]->bring(step + 1, uses);
    for (const auto& [key, use] : uses) {
      const std::int64_t slot = tables_[t].touch(key);
      if (dynamic_[t]->find(key) != nullptr) continue;
      absent_[t].push_back(key);
      if (tables_[t].table().dynamic.absent != AbsentRows::zero) continue;
      for (const auto numbers : {tables_[t].values(slot), tables_[t].value_bounds(slot)})
        std::ranges::fill(numbers, 0.0F);
    }
  }
}

/// What a step made of rows that it read and that are not there goes with it.
void Oracle::end(std::int64_t step, std::int64_t number) {
  TouchedTable& table = tables_[number];
  DynamicTable& dynamic = *dynamic_[number];
  for (const std::int64_t key : absent_[number]) table.forget(key);
  absent_[number].clear();
  if (table.table().dynamic.eviction.kind == EvictionKind::l2)
    for (const std::int64_t key : table.rows()) {
      const auto values = table.values(table.find(key));
      dynamic.find(key)->values.assign(values.begin(), values.end());
    }
  for (const std::int64_t key : dynamic.end(step + 1)) table.forget(key);
}

Expected Oracle::lookup(const Batch& batch, std::int64_t feature, std::int64_t first, std::int64_t count) {
  Expected expected;
  for_each_bag(batch, feature, features_[feature], first, count,
               [&](const Bag& bag) { look_up(bag, feature, expected); });
  return expected;
}

void Oracle::look_up(const Bag& bag, std::int64_t feature, Expected& expected) {
  const std::int64_t number = features_[feature].table;
  const Pooling pooling = features_[feature].pooling;
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

void Oracle::update(const Batch& batch, std::int64_t step, const BagGradients& gradients,
                    const std::function<void(std::int64_t)>& on_table) {
  for (std::int64_t t = 0; t < std::ssize(tables_); ++t) {
    on_table(t);
    const bool trains = table(t).table().optimizer.kind != OptimizerKind::none;
    if (trains && computed_[t]) update_computed(batch, step, t, gradients);
    if (trains && !computed_[t]) update_table(batch, step, t, gradients);
    if (dynamic_[t]) end(step, t);
  }
}

BoundedGradient Oracle::gradient_of(std::span<const GradientSum> sums, std::int64_t table) const {
  BoundedGradient gradient;
  for (const auto& [sum, uncertain] : sums) {
    gradient.value.push_back(sum.value);
    gradient.magnitude.push_back(sum.magnitude);
    gradient.error.push_back(uncertain + (summed_as_given_[table] && sum.exact() ? 0.0 : sum.bound()));
  }
  return gradient;
}

void Oracle::update_table(const Batch& batch, std::int64_t step, std::int64_t number, const BagGradients& of_bags) {
  TouchedTable& table = tables_[number];
  RowGradients gradients = sum_gradients(table, features_, of_bags, batch, wire_);
  for (const std::int64_t slot : gradients.slots()) {
    const auto sums = gradients.of(slot);
    const BoundedGradient gradient = gradient_of(sums, number);
    if (bit_exact(number)) {
      for (const auto& [sum, uncertain] : sums) check_exact(sum, table.table());
      exact_step(table, slot, step + 1, gradient.value);
    } else {
      bounded_step(table, slot, step + 1, gradient.value, gradient.error);
    }
  }
}

void Oracle::update_computed(const Batch& batch, std::int64_t step, std::int64_t number, const BagGradients& of_bags) {
  TouchedTable& rows = tables_[number];
  std::map<std::int64_t, std::int64_t> uses;  // of each row that the batch names
  for (std::int64_t f = 0; f < std::ssize(features_); ++f)
    if (features_[f].table == number)
      for (std::int64_t i = batch.begin_of(f); i < batch.end_of(f); ++i) ++uses[batch.indices[i]];
  RowGradients gradients = sum_gradients(rows, features_, of_bags, batch, wire_);
  for (const auto& [row, count] : uses)
    computed_[number]->add_gradient(row, count, gradient_of(gradients.of(rows.find(row)), number), step + 1);
  computed_[number]->finish(step + 1);
  rows = rows.untouched();
}

}  // namespace shardmark::reference
