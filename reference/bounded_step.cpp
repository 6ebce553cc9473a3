// SPDX-License-Identifier: Apache-2.0
#include "reference/bounded_step.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/optimizer_step.hpp"
#include "reference/rounding.hpp"

namespace shardmark::reference {
namespace {

/// What a gradient takes off one value, with the state s after this step.
double step_size(const Optimizer& optimizer, double gradient, double s) {
  const double step = static_cast<double>(optimizer.learning_rate) * gradient;
  return optimizer.kind == OptimizerKind::sgd ? step : step / (std::sqrt(s) + optimizer.epsilon);
}

/// A range of the numbers of state after the step, and how many columns share each of them.
struct StateRange {
  std::vector<double> before_low, after, error;
  std::size_t columns = 1;
};

/// |(g +- e)^2 - g^2| <= 2 |g| e + e^2; the state takes the mean of that over the columns which share it.
StateRange range_of_state(const TouchedTable& table, std::int64_t slot, std::span<const double> after,
                          std::span<const double> gradient, std::span<const double> errors) {
  const auto before = table.state(slot);
  const auto bounds = table.state_bounds(slot);
  StateRange range{.before_low = std::vector<double>(after.size()),
                   .after = {after.begin(), after.end()},
                   .error = {bounds.begin(), bounds.end()}};
  if (after.empty()) return range;
  range.columns = gradient.size() / after.size();
  for (std::size_t c = 0; c < gradient.size(); ++c)
    range.error[c / range.columns] +=
        (2 * std::abs(gradient[c]) + errors[c]) * errors[c] / static_cast<double>(range.columns);
  for (std::size_t i = 0; i < after.size(); ++i)
    range.before_low[i] = std::max(0.0, static_cast<double>(before[i]) - bounds[i]);
  return range;
}

/// By how much the step of column c may differ. It grows with the gradient and shrinks with the state, so its extremes
/// are at the corners; the state is never below what this very gradient adds to it.
double error_of_step(const Optimizer& optimizer, const StateRange& state, std::size_t c, double gradient,
                     double error) {
  if (state.after.empty()) return std::abs(step_size(optimizer, error, 0.0));
  const std::size_t i = c / state.columns;
  const double step = step_size(optimizer, gradient, state.after[i]);
  double largest = 0.0;
  for (const double g : {gradient - error, gradient + error}) {
    const double low =
        std::max(state.after[i] - state.error[i], state.before_low[i] + g * g / static_cast<double>(state.columns));
    for (const double s : {low, state.after[i] + state.error[i]})
      largest = std::max(largest, std::abs(step_size(optimizer, g, s) - step));
  }
  return largest;
}

struct Updated {
  std::vector<double> values, state;
};

Updated updated_row(const TouchedTable& table, std::int64_t slot, std::span<const double> gradient) {
  const auto values = table.values(slot);
  const auto state = table.state(slot);
  Updated updated{{values.begin(), values.end()}, {state.begin(), state.end()}};
  optimizer_step<double>(table.table().optimizer, 1, updated.values, updated.state, gradient);
  return updated;
}

void store(const Updated& updated, TouchedTable& table, std::int64_t slot) {
  const auto rounded = [](double x) { return static_cast<float>(x); };
  std::ranges::transform(updated.values, table.values(slot).begin(), rounded);
  std::ranges::transform(updated.state, table.state(slot).begin(), rounded);
}

}  // namespace

void bounded_step(TouchedTable& table, std::int64_t slot, std::span<const double> gradient,
                  std::span<const double> errors) {
  const auto dim = static_cast<double>(gradient.size());
  const auto values = table.values(slot);
  const auto value_bounds = table.value_bounds(slot);
  const auto state_bounds = table.state_bounds(slot);
  const Updated updated = updated_row(table, slot, gradient);
  const StateRange state = range_of_state(table, slot, updated.state, gradient, errors);

  for (std::size_t c = 0; c < gradient.size(); ++c) {
    const double error = error_of_step(table.table().optimizer, state, c, gradient[c], errors[c]);
    const double step = std::abs(updated.values[c] - values[c]) + error;
    value_bounds[c] +=
        static_cast<float>(error + unit_roundoff * ((8 + dim / 2) * step + 2 * std::abs(updated.values[c])));
  }
  for (std::size_t i = 0; i < state.after.size(); ++i)
    state_bounds[i] =
        static_cast<float>(state.error[i] + unit_roundoff * (4 + dim) * (state.after[i] + state.error[i]));
  store(updated, table, slot);
}

void exact_step(TouchedTable& table, std::int64_t slot, std::span<const double> gradient) {
  store(updated_row(table, slot, gradient), table, slot);
}

}  // namespace shardmark::reference
