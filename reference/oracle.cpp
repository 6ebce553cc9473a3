// SPDX-License-Identifier: Apache-2.0
#include "reference/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/bounded_step.hpp"
#include "reference/error.hpp"
#include "reference/pooled_lookup.hpp"
#include "reference/rounding.hpp"

namespace shardmark::reference {
namespace {

/// The ids of one bag: [begin, end) in the batch; `position` counts within the sample for Pooling::none.
struct Bag {
  std::int64_t sample, position, begin, end;
};

template <class Visit>
void for_each_bag(const Batch& batch, std::int64_t feature, Pooling pooling, std::int64_t first, std::int64_t count,
                  Visit&& visit) {
  for (std::int64_t s = first; s < first + count; ++s) {
    const auto bag = static_cast<std::size_t>(feature * batch.samples + s);
    const std::int64_t begin = batch.offsets[bag], end = batch.offsets[bag + 1];
    if (pooling != Pooling::none) {
      visit(Bag{s, 0, begin, end});
    } else {
      for (std::int64_t i = begin; i < end; ++i) visit(Bag{s, i - begin, i, i + 1});
    }
  }
}

template <class T>
std::span<const T> ids_of(const std::vector<T>& all, const Bag& bag) {
  if (all.empty()) return {};
  return std::span(all).subspan(static_cast<std::size_t>(bag.begin), static_cast<std::size_t>(bag.end - bag.begin));
}

bool adds_only(Pooling pooling) { return pooling == Pooling::sum || pooling == Pooling::none; }

void check_exact(const BoundedSum& sum, const Table& table) {
  if (!sum.exact())
    throw InputError("exact mode: the sums of table " + table.name +
                     " grow beyond 2^24 units, so they are no longer exact in fp32; use a smaller batch, fewer checked "
                     "steps or exact=false");
}

}  // namespace

Oracle::Oracle(const std::vector<Table>& tables, std::vector<Feature> features, const RowValues& rows,
               const GradientValues& gradients)
    : features_(std::move(features)), gradients_(gradients) {
  for (const auto& table : tables) {
    tables_.emplace_back(table, std::ssize(tables_), rows);
    bit_exact_.push_back(rows.unit > 0.0F && table.optimizer.kind == OptimizerKind::sgd &&
                         is_power_of_two(table.optimizer.learning_rate));
  }
  for (const auto& feature : features_)
    if (!adds_only(feature.pooling)) bit_exact_[static_cast<std::size_t>(feature.table)] = false;
}

Expected Oracle::lookup(const Batch& batch, std::int64_t feature, std::int64_t first, std::int64_t count) {
  const auto& [name, number, pooling, hotness] = features_[static_cast<std::size_t>(feature)];
  TouchedTable& table = tables_[static_cast<std::size_t>(number)];
  const auto dim = static_cast<std::size_t>(table.table().dim);
  Expected expected;
  std::vector<BoundedSum> sums(dim);
  std::vector<double> uncertainty(dim);

  for_each_bag(batch, feature, pooling, first, count, [&](const Bag& bag) {
    const auto ids = ids_of(batch.indices, bag);
    const auto weights = ids_of(batch.weights, bag);
    const std::size_t at = expected.values.size();
    expected.values.resize(at + dim);
    expected.bounds.resize(at + dim);
    for (const std::int64_t id : ids) table.touch(id);
    pool_bag(
        pooling, [&](std::int64_t id) { return table.values(table.find(id)); }, ids, weights,
        std::span(expected.values).subspan(at, dim));

    std::ranges::fill(sums, BoundedSum{});
    std::ranges::fill(uncertainty, 0.0);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::int64_t slot = table.find(ids[i]);
      const double w = weights.empty() ? 1.0 : weights[i];
      for (std::size_t c = 0; c < dim; ++c) {
        sums[c].add(w * table.values(slot)[c]);
        uncertainty[c] += std::abs(w) * table.value_bounds(slot)[c];
      }
    }
    if (bit_exact(number)) {
      for (const auto& sum : sums) check_exact(sum, table.table());
      return;
    }
    const double divisor = bag_divisor(pooling, std::ssize(ids), weights);
    if (divisor == 0.0) return;
    for (std::size_t c = 0; c < dim; ++c)
      expected.bounds[at + c] = static_cast<float>((sums[c].bound() + uncertainty[c]) / std::abs(divisor));
  });
  return expected;
}

void Oracle::update(const Batch& batch, std::int64_t step) {
  for (std::int64_t t = 0; t < std::ssize(tables_); ++t) update_table(batch, step, t);
}

namespace {

/// Gradients of the rows that one step touches in one table, summed over all features and samples.
class RowGradients {
 public:
  explicit RowGradients(std::int64_t dim) : dim_(static_cast<std::size_t>(dim)) {}

  /// The sums of the row in `slot`, [dim].
  std::span<BoundedSum> of(std::int64_t slot) {
    if (slot >= std::ssize(number_of_)) number_of_.resize(static_cast<std::size_t>(slot + 1), -1);
    auto& number = number_of_[static_cast<std::size_t>(slot)];
    if (number < 0) {
      number = std::ssize(slots_);
      slots_.push_back(slot);
      sums_.resize(sums_.size() + dim_);
    }
    return row_of(sums_, number, static_cast<std::int64_t>(dim_));
  }

  const std::vector<std::int64_t>& slots() const { return slots_; }  ///< of the TouchedTable, in order of first touch

 private:
  std::size_t dim_;
  std::vector<std::int64_t> number_of_;  ///< slot -> place in slots_, or -1
  std::vector<std::int64_t> slots_;
  std::vector<BoundedSum> sums_;  ///< [slots, dim]
};

RowGradients sum_gradients(TouchedTable& table, const std::vector<Feature>& features, const GradientValues& gradients,
                           const Batch& batch, std::int64_t step) {
  const std::int64_t dim = table.table().dim;
  RowGradients sums(dim);
  std::vector<float> gradient(static_cast<std::size_t>(dim));
  for (std::int64_t f = 0; f < std::ssize(features); ++f) {
    const auto& feature = features[static_cast<std::size_t>(f)];
    if (feature.table != table.number()) continue;
    for_each_bag(batch, f, feature.pooling, 0, batch.samples, [&](const Bag& bag) {
      for (std::int64_t c = 0; c < dim; ++c)
        gradient[static_cast<std::size_t>(c)] = gradients(step, f, bag.sample, bag.position, c);
      const auto ids = ids_of(batch.indices, bag);
      for (const std::int64_t id : ids) table.touch(id);
      pool_bag_backward(
          feature.pooling, [&](std::int64_t id) { return table.values(table.find(id)); }, ids,
          ids_of(batch.weights, bag), gradient,
          [&](std::size_t i, std::size_t c, double g) { sums.of(table.find(ids[i]))[c].add(g); });
    });
  }
  return sums;
}

}  // namespace

void Oracle::update_table(const Batch& batch, std::int64_t step, std::int64_t number) {
  TouchedTable& table = tables_[static_cast<std::size_t>(number)];
  const bool added_only = std::ranges::all_of(
      features_, [&](const Feature& feature) { return feature.table != number || adds_only(feature.pooling); });
  RowGradients gradients = sum_gradients(table, features_, gradients_, batch, step);
  std::vector<double> gradient(static_cast<std::size_t>(table.table().dim)), errors(gradient.size());
  for (const std::int64_t slot : gradients.slots()) {
    const auto sums = gradients.of(slot);
    std::ranges::transform(sums, gradient.begin(), &BoundedSum::value);
    if (bit_exact(number)) {
      for (const auto& sum : sums) check_exact(sum, table.table());
      exact_step(table, slot, gradient);
    } else {
      std::ranges::transform(sums, errors.begin(),
                             [&](const BoundedSum& sum) { return added_only && sum.exact() ? 0.0 : sum.bound(); });
      bounded_step(table, slot, gradient, errors);
    }
  }
}

}  // namespace shardmark::reference
