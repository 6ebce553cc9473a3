// SPDX-License-Identifier: Apache-2.0
#include "reference/oracle.hpp"

#include <algorithm>
#include <cmath>

#include "reference/error.hpp"
#include "reference/optimizer_step.hpp"
#include "reference/pooled_lookup.hpp"

namespace shardmark::reference {
namespace {

constexpr double rounding = 0x1p-24;     // u: half a unit in the last place of 1, relative
constexpr double exact_limit = 0x1p24;   // integers up to here are exact in fp32

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

void check_exact(double sum_of_magnitudes, double unit, const Table& table) {
  if (sum_of_magnitudes > exact_limit * unit)
    throw InputError("exact mode: the sums of table " + table.name +
                     " grow beyond 2^24 units, so they are no longer exact in fp32; use a smaller batch, fewer checked "
                     "steps or exact=false");
}

/// Gradient sums of the rows of one table that one step touches, in double: by unique row, [unique, dim].
struct RowGradients {
  std::vector<std::int64_t> slots;  ///< of the unique rows in the TouchedTable
  std::vector<std::int64_t> terms;
  std::vector<double> sums, magnitudes;
};

}  // namespace

Oracle::Oracle(const std::vector<Table>& tables, std::vector<Feature> features, const RowValues& rows,
               const GradientValues& gradients)
    : features_(std::move(features)), gradients_(gradients) {
  for (const auto& table : tables) {
    tables_.emplace_back(table, std::ssize(tables_), rows);
    bit_exact_.push_back(rows.unit > 0.0F && table.optimizer.kind == OptimizerKind::sgd);
  }
  for (const auto& feature : features_)
    if (feature.pooling != Pooling::sum && feature.pooling != Pooling::none)
      bit_exact_[static_cast<std::size_t>(feature.table)] = false;
}

Expected Oracle::lookup(const Batch& batch, std::int64_t feature, std::int64_t first, std::int64_t count) {
  const auto& [name, number, pooling, hotness] = features_[static_cast<std::size_t>(feature)];
  TouchedTable& table = tables_[static_cast<std::size_t>(number)];
  const auto dim = static_cast<std::size_t>(table.table().dim);
  const bool exact = bit_exact(number);
  Expected expected;
  std::vector<double> magnitude(dim), uncertainty(dim);

  for_each_bag(batch, feature, pooling, first, count, [&](const Bag& bag) {
    const auto ids = ids_of(batch.indices, bag);
    const auto weights = ids_of(batch.weights, bag);
    const std::size_t at = expected.values.size();
    expected.values.resize(at + dim);
    expected.bounds.resize(at + dim);
    for (const std::int64_t id : ids) table.touch(id);
    pool_bag(pooling, [&](std::int64_t id) { return table.values(table.find(id)); }, ids, weights,
             std::span(expected.values).subspan(at, dim));

    std::ranges::fill(magnitude, 0.0);
    std::ranges::fill(uncertainty, 0.0);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::int64_t slot = table.find(ids[i]);
      const double w = weights.empty() ? 1.0 : std::abs(weights[i]);
      for (std::size_t c = 0; c < dim; ++c) {
        magnitude[c] += w * std::abs(table.values(slot)[c]);
        uncertainty[c] += w * table.value_bounds(slot)[c];
      }
    }
    if (exact) {
      for (const double m : magnitude) check_exact(m, table.initial().unit, table.table());
      return;
    }
    const double divisor = bag_divisor(pooling, std::ssize(ids), weights);
    if (divisor == 0.0) return;
    const double relative = static_cast<double>(ids.size() + 2) * rounding;
    for (std::size_t c = 0; c < dim; ++c)
      expected.bounds[at + c] = static_cast<float>((magnitude[c] * relative + uncertainty[c]) / std::abs(divisor));
  });
  return expected;
}

void Oracle::update(const Batch& batch, std::int64_t step) {
  for (std::int64_t t = 0; t < std::ssize(tables_); ++t) update_table(batch, step, t);
}

namespace {

RowGradients sum_gradients(TouchedTable& table, const std::vector<Feature>& features, const GradientValues& gradients,
                           const Batch& batch, std::int64_t step) {
  const std::int64_t dim = table.table().dim;
  RowGradients result;
  std::vector<std::int64_t> unique_of;  // slot -> number in result, or -1
  std::vector<float> gradient(static_cast<std::size_t>(dim));
  for (std::int64_t f = 0; f < std::ssize(features); ++f) {
    const auto& feature = features[static_cast<std::size_t>(f)];
    if (feature.table != table.number()) continue;
    for_each_bag(batch, f, feature.pooling, 0, batch.samples, [&](const Bag& bag) {
      for (std::int64_t c = 0; c < dim; ++c)
        gradient[static_cast<std::size_t>(c)] = gradients(step, f, bag.sample, bag.position, c);
      std::int64_t current = -1, unique = -1;
      pool_bag_backward(feature.pooling, bag.end - bag.begin, ids_of(batch.weights, bag), gradient,
                        [&](std::int64_t i, std::int64_t c, double g) {
                          if (i != current) {
                            current = i;
                            const std::int64_t slot = table.touch(batch.indices[static_cast<std::size_t>(bag.begin + i)]);
                            if (slot >= std::ssize(unique_of)) unique_of.resize(static_cast<std::size_t>(slot + 1), -1);
                            auto& number = unique_of[static_cast<std::size_t>(slot)];
                            if (number < 0) {
                              number = std::ssize(result.slots);
                              result.slots.push_back(slot);
                              result.terms.push_back(0);
                              result.sums.resize(result.slots.size() * static_cast<std::size_t>(dim));
                              result.magnitudes.resize(result.sums.size());
                            }
                            unique = number;
                            ++result.terms[static_cast<std::size_t>(unique)];
                          }
                          const auto at = static_cast<std::size_t>(unique * dim + c);
                          result.sums[at] += g;
                          result.magnitudes[at] += std::abs(g);
                        });
    });
  }
  return result;
}

/// Applies the update to one row in double; errors[c] is by how much gradient[c] may differ in another evaluation.
class RowUpdate {
 public:
  RowUpdate(TouchedTable& table, std::int64_t slot) : table_(table), slot_(slot), optimizer_(table.table().optimizer) {}

  struct Result {
    std::vector<double> values, state;
  };

  Result evaluate(std::span<const double> gradient) const {
    const auto values = table_.values(slot_);
    const auto state = table_.state(slot_);
    Result result{{values.begin(), values.end()}, {state.begin(), state.end()}};
    optimizer_step<double>(optimizer_, result.values, result.state, gradient);
    return result;
  }

  void apply(std::span<const double> gradient, std::span<const double> errors, bool exact) {
    const Result after = evaluate(gradient);
    if (!exact) widen_bounds(after, gradient, errors);
    std::ranges::transform(after.values, table_.values(slot_).begin(), [](double x) { return static_cast<float>(x); });
    std::ranges::transform(after.state, table_.state(slot_).begin(), [](double x) { return static_cast<float>(x); });
  }

 private:
  void widen_bounds(const Result& after, std::span<const double> gradient, std::span<const double> errors) {
    const auto dim = static_cast<double>(gradient.size());
    auto value_bounds = table_.value_bounds(slot_);
    auto state_bounds = table_.state_bounds(slot_);
    for (std::size_t c = 0; c < after.values.size(); ++c)
      value_bounds[c] += static_cast<float>((8.0 + dim / 2) * rounding * std::abs(after.values[c] - table_.values(slot_)[c]) +
                                            2 * rounding * std::abs(after.values[c]));
    for (std::size_t i = 0; i < after.state.size(); ++i)
      state_bounds[i] += static_cast<float>((4.0 + dim) * rounding * std::abs(after.state[i]));
    if (std::ranges::all_of(errors, [](double e) { return e == 0.0; })) return;

    std::vector<double> value_change(after.values.size()), state_change(after.state.size());
    std::vector<double> moved(gradient.size());
    for (const double sign : {-1.0, 1.0}) {
      for (std::size_t c = 0; c < moved.size(); ++c) moved[c] = gradient[c] + sign * errors[c];
      const Result other = evaluate(moved);
      for (std::size_t c = 0; c < value_change.size(); ++c)
        value_change[c] = std::max(value_change[c], std::abs(other.values[c] - after.values[c]));
      for (std::size_t i = 0; i < state_change.size(); ++i)
        state_change[i] = std::max(state_change[i], std::abs(other.state[i] - after.state[i]));
    }
    for (std::size_t c = 0; c < value_change.size(); ++c) value_bounds[c] += static_cast<float>(2 * value_change[c]);
    for (std::size_t i = 0; i < state_change.size(); ++i) state_bounds[i] += static_cast<float>(2 * state_change[i]);
  }

  TouchedTable& table_;
  std::int64_t slot_;
  Optimizer optimizer_;
};

}  // namespace

void Oracle::update_table(const Batch& batch, std::int64_t step, std::int64_t number) {
  TouchedTable& table = tables_[static_cast<std::size_t>(number)];
  const auto dim = static_cast<std::size_t>(table.table().dim);
  const RowGradients gradients = sum_gradients(table, features_, gradients_, batch, step);
  const bool exact = bit_exact(number);
  // Gradients of sum and none are multiples of the unit (of a quarter of it with weights): their sums are exact.
  const bool exact_gradients = std::ranges::all_of(features_, [&](const Feature& feature) {
    return feature.table != number || feature.pooling == Pooling::sum || feature.pooling == Pooling::none;
  });
  const double unit = batch.weights.empty() ? gradients_.unit : gradients_.unit / 4;
  std::vector<double> errors(dim);
  for (std::size_t u = 0; u < gradients.slots.size(); ++u) {
    const auto sums = std::span(gradients.sums).subspan(u * dim, dim);
    const auto magnitudes = std::span(gradients.magnitudes).subspan(u * dim, dim);
    const double relative = static_cast<double>(gradients.terms[u] + 2) * rounding;
    for (std::size_t c = 0; c < dim; ++c) {
      if (exact) check_exact(magnitudes[c], unit, table.table());
      errors[c] = exact_gradients && magnitudes[c] <= exact_limit * unit ? 0.0 : relative * magnitudes[c];
    }
    RowUpdate(table, gradients.slots[u]).apply(sums, errors, exact);
  }
}

}  // namespace shardmark::reference
