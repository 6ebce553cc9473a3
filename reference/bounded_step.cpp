// SPDX-License-Identifier: Apache-2.0
#include "reference/bounded_step.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/optimizer_step.hpp"
#include "reference/rounding.hpp"

namespace shardmark::reference {
namespace {

/// Holds what the step of one column depends on: value, gradient, two numbers of state, two sums over the *other*
/// columns of the row. So a sum never lies below what the column's own gradient adds to it.
using StepNumbers = std::array<double, 6>;

struct Column {
  StepNumbers centre, error, least;  ///< least: a mean or a sum of squares is not negative
  double decay = 0.0;                ///< weights of the column that its gradient has beside x[1] (WeightDecay::l2)
};

/// Returns the place in the state of a column of what is a sum or a mean of squares; past the end when there is none.
std::size_t place_of_squares(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::adagrad:
    case OptimizerKind::rowwise_adagrad:
    case OptimizerKind::rmsprop:
    case OptimizerKind::ftrl:
      return 0;
    case OptimizerKind::adam:
    case OptimizerKind::rowwise_adam:
    case OptimizerKind::lamb:
      return 1;
    default:
      return 2;
  }
}

bool has_row_sums(OptimizerKind kind) {
  return kind == OptimizerKind::rowwise_adagrad || kind == OptimizerKind::rowwise_adam || kind == OptimizerKind::lamb;
}

Cell<double> cell_of(const StepNumbers& x) { return {.w = x[0], .g = x[1], .state = {x[2], x[3]}}; }

/// Returns a cell that collects the roundings of the formulas. What is uncertain about 0 must not pass for an exact
/// zero, which adds and multiplies without any: it gets an error that is lost beside all others.
Cell<Rounded> rounded_cell_of(const Column& column) {
  const auto number = [&](std::size_t i) {
    return Rounded(column.centre[i], column.centre[i] == 0.0 && column.error[i] != 0.0 ? 1e-100 : 0.0);
  };
  return {.w = number(0), .g = number(1), .state = {number(2), number(3)}};
}

RowSums<double> sums_of(const OptimizerRule& rule, const StepNumbers& x) {
  const auto own = rule.row_terms(cell_of(x));
  return {x[4] + own[0], x[5] + own[1]};
}

Cell<double> stepped(const OptimizerRule& rule, const StepNumbers& x) {
  return rule.stepped(cell_of(x), sums_of(rule, x));
}

/// Calls visit(corner) for every choice of the upper or lower end of each uncertain number, and there for each gradient
/// between its ends at which a step may turn. Of the two sums only lamb has both, in a quotient: while one is at its
/// upper end, the other is at its lower one. With a decay d a step is w - h(g + d w), which turns where h grows faster
/// than w: so g + d w goes from end to end whatever w is.
template <class Visit>
void for_each_corner(const OptimizerRule& rule, const Column& column, Visit&& visit) {
  StepNumbers error = column.error;
  error[1] += column.decay * error[0];
  std::array<std::size_t, 5> uncertain{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < uncertain.size(); ++i)
    if (error[i] != 0.0 || (i == 4 && error[5] != 0.0)) uncertain[count++] = i;
  for (std::size_t corner = 0; count > 0 && corner < (std::size_t{1} << count); ++corner) {
    StepNumbers x = column.centre;
    const auto move = [&](std::size_t i, double sign) {
      x[i] = std::max(column.least[i], x[i] + sign * error[i]);
      if (i == 0) x[1] -= column.decay * (x[0] - column.centre[0]);
    };
    for (std::size_t k = 0; k < count; ++k) {
      const double sign = (corner >> k & 1U) != 0 ? 1.0 : -1.0;
      move(uncertain[k], sign);
      if (uncertain[k] == 4) move(5, -sign);
    }
    visit(x);
    const double centre = column.centre[1] - column.decay * (x[0] - column.centre[0]);
    if (x[1] <= centre) continue;  // the corner that differs in this end has the same gradients between
    for (const double g : rule.turning_gradients(cell_of(x), x[4])) {
      if (!(std::abs(g - centre) < error[1])) continue;
      x[1] = g;
      visit(x);
    }
  }
}

/// Returns the columns of a row; the bounds of its values and state are their errors.
std::vector<Column> columns_of(const TouchedTable& table, std::int64_t slot, std::span<const double> gradient,
                               std::span<const double> errors) {
  const Optimizer& optimizer = table.table().optimizer;
  const OptimizerKind kind = optimizer.kind;
  const double decay = optimizer.weight_decay_mode == WeightDecay::l2 ? double{optimizer.weight_decay} : 0.0;
  const auto centres = cells_of(kind, table.values(slot), table.state(slot), gradient);
  const auto bounds = cells_of(kind, table.value_bounds(slot), table.state_bounds(slot), errors);
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  std::vector<Column> columns;
  for (std::size_t c = 0; c < centres.size(); ++c) {
    const auto& [w, g, state] = centres[c];
    const auto& [w_error, g_error, state_error] = bounds[c];
    columns.push_back({.centre = {w, g, state[0], state[1], 0.0, 0.0},
                       .error = {w_error, g_error, state_error[0], state_error[1], 0.0, 0.0},
                       .least = {lowest, lowest, lowest, lowest, 0.0, 0.0},
                       .decay = decay});
    if (const auto k = place_of_squares(kind); k < state.size()) columns.back().least[2 + k] = 0.0;
  }
  return columns;
}

/// Fills in the sums over the other columns of each, and returns the sums over all as fp32 rounds them.
RowSums<Rounded> add_row_sums(const OptimizerRule& rule, std::vector<Column>& columns) {
  std::vector<RowSums<double>> terms(columns.size()), deviations(columns.size());
  RowSums<Rounded> sums{};
  RowSums<double> deviation{};
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const auto cell = cell_of(columns[c].centre);
    terms[c] = rule.row_terms(cell);
    for_each_corner(rule, columns[c], [&](const StepNumbers& corner) {
      const auto there = rule.row_terms(cell_of(corner));
      for (std::size_t i = 0; i < 2; ++i)
        deviations[c][i] = std::max(deviations[c][i], std::abs(there[i] - terms[c][i]));
    });
    const auto rounded = rule.row_terms(rounded_cell_of(columns[c]));
    for (std::size_t i = 0; i < 2; ++i) {
      sums[i].value += terms[c][i];
      sums[i].error += rounded[i].error;
      deviation[i] += deviations[c][i];
    }
  }
  for (std::size_t i = 0; i < 2; ++i) {
    sums[i].error += rounding_error(static_cast<double>(columns.size()), sums[i].value);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      columns[c].centre[4 + i] = std::max(0.0, sums[i].value - terms[c][i]);
      columns[c].error[4 + i] = std::max(0.0, deviation[i] - deviations[c][i]);
    }
  }
  return sums;
}

/// Holds a column after the step and by how much each number may differ.
struct Outcome {
  Cell<double> after;
  double error = 0.0;
  std::array<double, 2> state_error{};
};

Outcome outcome_of(const OptimizerRule& rule, const Column& column, const RowSums<Rounded>& sums) {
  const auto cell = cell_of(column.centre);
  const auto rounded = rule.stepped(rounded_cell_of(column), sums);
  Outcome outcome{.after = rule.stepped(cell, {sums[0].value, sums[1].value})};
  const auto widen = [](double& error, double there, double here) { error = std::max(error, std::abs(there - here)); };
  for_each_corner(rule, column, [&](const StepNumbers& corner) {
    const auto there = stepped(rule, corner);
    widen(outcome.error, there.w, outcome.after.w);
    for (std::size_t k = 0; k < 2; ++k) widen(outcome.state_error[k], there.state[k], outcome.after.state[k]);
  });
  constexpr double of_corners = 1.0 + 0x1p-10;  // their own roundings
  outcome.error = of_corners * outcome.error + rounded.w.error;
  for (std::size_t k = 0; k < 2; ++k)
    outcome.state_error[k] = of_corners * outcome.state_error[k] + rounded.state[k].error;
  return outcome;
}

/// Stores x as the value type does, from any fp32 value within `error` of it.
void store(double x, double error, const RowRounding& rounding, std::int64_t column, float& value, float& bound) {
  const auto in_fp32 = static_cast<float>(x);
  value = rounding(in_fp32, column);
  const double own = std::abs(static_cast<double>(in_fp32) - x);
  if (rounding.type == ValueType::fp32) {
    bound = static_cast<float>(error + own);
    return;
  }
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float low = std::nextafter(static_cast<float>(x - error), -infinity);
  const float high = std::nextafter(static_cast<float>(x + error), infinity);
  bound = error == 0.0 ? 0.0F : std::max(value - rounding(low, column), rounding(high, column) - value);
}

RowRounding rounding_of(const TouchedTable& table, std::int64_t slot, std::int64_t t) {
  return {.type = table.table().value_type,
          .stochastic = table.table().stochastic_rounding,
          .seed = table.seed(),
          .step = t,
          .table = table.number(),
          .row = table.rows()[slot]};
}

}  // namespace

void bounded_step(TouchedTable& table, std::int64_t slot, std::int64_t t, std::span<const double> gradient,
                  std::span<const double> errors) {
  const auto are_finite = [](const auto& bounds) {
    return std::ranges::all_of(bounds, [](auto bound) { return std::isfinite(bound); });
  };
  const bool bounded =
      are_finite(errors) && are_finite(table.value_bounds(slot)) && are_finite(table.state_bounds(slot));
  const Optimizer& optimizer = table.table().optimizer;
  const OptimizerRule rule(optimizer, t, std::ssize(gradient));
  const auto rounding = rounding_of(table, slot, t);
  auto columns = columns_of(table, slot, gradient, errors);
  const auto sums = has_row_sums(optimizer.kind) ? add_row_sums(rule, columns) : RowSums<Rounded>{};
  const auto state = table.state(slot), state_bounds = table.state_bounds(slot);
  const auto vectors = static_cast<std::size_t>(choice_of(optimizer.kind).vectors);

  std::vector<double> new_state(state.size()), state_error(state.size(), 0.0);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const Outcome outcome = outcome_of(rule, columns[c], sums);
    store(outcome.after.w, outcome.error, rounding, static_cast<std::int64_t>(c), table.values(slot)[c],
          table.value_bounds(slot)[c]);
    for (std::size_t k = 0; k < vectors + static_cast<std::size_t>(choice_of(optimizer.kind).scalars); ++k) {
      const std::size_t at = k < vectors ? k * columns.size() + c : vectors * columns.size();
      new_state[at] = outcome.after.state[k];
      state_error[at] = std::max(state_error[at], outcome.state_error[k]);
    }
  }
  const RowRounding fp32{};
  for (std::size_t i = 0; i < state.size(); ++i)
    store(new_state[i], state_error[i], fp32, 0, state[i], state_bounds[i]);
  if (bounded) return;
  std::ranges::fill(table.value_bounds(slot), INFINITY);
  std::ranges::fill(state_bounds, INFINITY);
}

void exact_step(TouchedTable& table, std::int64_t slot, std::int64_t t, std::span<const double> gradient) {
  const auto values = table.values(slot);
  optimizer_step<float>(table.table().optimizer, t, values, table.state(slot), gradient);
  const auto rounding = rounding_of(table, slot, t);
  for (std::size_t c = 0; c < values.size(); ++c) values[c] = rounding(values[c], static_cast<std::int64_t>(c));
}

}  // namespace shardmark::reference
