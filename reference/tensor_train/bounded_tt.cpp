// SPDX-License-Identifier: Apache-2.0
#include "reference/tensor_train/bounded_tt.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/bounded_step.hpp"
#include "reference/rounding.hpp"

namespace shardmark::reference {

BoundedTt::BoundedTt(const TensorTrainShape& shape, std::vector<TouchedTable> cores)
    : shape_(shape),
      cores_(std::move(cores)),
      core_(cores_.size()),
      contractions_{RowContraction(shape), RowContraction(shape), RowContraction(shape)} {}

std::int64_t BoundedTt::touch(int t, std::int64_t slice) {
  const std::int64_t slot = cores_[t].touch(slice);
  Core& core = core_[t];
  if (slot < std::ssize(core.uses)) return slot;
  core.uses.push_back(0);
  for (Numbers* numbers : {&core.entries, &core.gradients})
    for (auto& all : numbers->of) all.resize(core.uses.size() * static_cast<std::size_t>(shape_.slice_elements(t)));
  refresh(t, slot);
  return slot;
}

void BoundedTt::refresh(int t, std::int64_t slot) {
  const std::int64_t size = shape_.slice_elements(t);
  Numbers& entries = core_[t].entries;
  const auto values = std::as_const(cores_[t]).values(slot), bounds = std::as_const(cores_[t]).value_bounds(slot);
  for (std::int64_t i = 0; i < size; ++i) {
    const double magnitude = std::abs(double{values[i]});
    entries.slice(0, slot, size)[i] = values[i];
    entries.slice(1, slot, size)[i] = magnitude;
    entries.slice(2, slot, size)[i] = magnitude + bounds[i];
    core_[t].largest = std::max(core_[t].largest, magnitude + bounds[i]);
  }
}

std::array<std::span<const double>, 3> BoundedTt::contract(std::int64_t row) {
  const auto digits = shape_.digits(row);
  const auto before = shape_.digits(std::max<std::int64_t>(latest_, 0));
  int kept = 0;
  while (latest_ >= 0 && kept < shape_.cores && digits[kept] == before[kept]) ++kept;
  latest_ = row;
  for (int t = 0; t < shape_.cores; ++t) slots_[t] = touch(t, digits[t]);
  std::array<std::span<const double>, 3> rows;
  for (int kind = 0; kind < 3; ++kind) {
    Slices slices;
    for (int t = 0; t < shape_.cores; ++t)
      slices[t] = core_[t].entries.slice(kind, slots_[t], shape_.slice_elements(t));
    rows[kind] = contractions_[kind].row(slices, kept);
  }
  return rows;
}

void BoundedTt::row(std::int64_t row, std::span<float> values, std::span<float> bounds) {
  double roundings = 2;
  for (int t = 1; t < shape_.cores; ++t) roundings += static_cast<double>(shape_.r[t]);
  const auto [value, least, most] = contract(row);
  const double factor = largest_factor();
  for (std::size_t c = 0; c < values.size(); ++c) {
    values[c] = static_cast<float>(value[c]);
    bounds[c] = static_cast<float>(most[c] - least[c] + rounding_error(roundings, most[c], factor));
  }
}

void BoundedTt::add_gradient(std::int64_t row, std::int64_t uses, const BoundedGradient& gradient) {
  contract(row);
  auto most = gradient.magnitude;
  for (std::size_t c = 0; c < most.size(); ++c) most[c] += gradient.error[c];
  const std::array<std::span<const double>, 3> of_row{gradient.value, gradient.magnitude, most};
  for (int t = 0; t < shape_.cores; ++t) {
    Core& core = core_[t];
    if (core.uses[slots_[t]] == 0) core.touched.push_back(slots_[t]);
    core.uses[slots_[t]] += uses;
  }
  for (int kind = 0; kind < 3; ++kind) {
    SliceGradients sums;
    for (int t = 0; t < shape_.cores; ++t)
      sums[t] = core_[t].gradients.slice(kind, slots_[t], shape_.slice_elements(t));
    contractions_[kind].add_gradients(of_row[kind], sums);
  }
}

/// Returns the factor by which the products and sums with the other cores multiply a partial product, and its rounding.
double BoundedTt::largest_factor() const {
  double factor = 1.0;
  for (int t = 0; t < shape_.cores; ++t)
    factor *= std::max(1.0, static_cast<double>(shape_.r[t] * shape_.q[t]) * core_[t].largest);
  return factor;
}

/// Counts the roundings of a gradient, with the sums of every core but t, in any direction, and those over the columns
/// of the others.
double BoundedTt::roundings_of_gradient(int t) const {
  std::int64_t roundings = 2 + shape_.dim() / shape_.q[t];
  for (int s = 0; s < shape_.cores; ++s)
    if (s != t) roundings += (shape_.q[s] + 1) * std::max(shape_.r[s], shape_.r[s + 1]);
  return static_cast<double>(roundings);
}

void BoundedTt::step(std::int64_t step) {
  const double factor = largest_factor();
  for (int t = 0; t < shape_.cores; ++t) {
    Core& core = core_[t];
    const std::int64_t size = shape_.slice_elements(t);
    std::vector<double> errors(static_cast<std::size_t>(size));
    for (const std::int64_t slot : core.touched) {
      const auto least = core.gradients.slice(1, slot, size), most = core.gradients.slice(2, slot, size);
      const double roundings = roundings_of_gradient(t) + static_cast<double>(core.uses[slot]);
      for (std::int64_t i = 0; i < size; ++i)
        errors[i] = most[i] - least[i] + rounding_error(roundings, most[i], factor);
      bounded_step(cores_[t], slot, step, core.gradients.slice(0, slot, size), errors);
      refresh(t, slot);
      core.uses[slot] = 0;
      for (int kind = 0; kind < 3; ++kind) std::ranges::fill(core.gradients.slice(kind, slot, size), 0.0);
    }
    core.touched.clear();
  }
  latest_ = -1;
}

}  // namespace shardmark::reference
