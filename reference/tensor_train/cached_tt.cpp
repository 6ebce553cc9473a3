// SPDX-License-Identifier: Apache-2.0
#include "reference/tensor_train/cached_tt.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/bounded_step.hpp"
#include "reference/rounding.hpp"
#include "reference/tensor_train/initial_cores.hpp"
#include "reference/tensor_train/stored_cores.hpp"

namespace shardmark::reference {
namespace {

std::vector<TouchedTable> initial_core_tables(const Table& table, std::int64_t number, const RowValues& initial) {
  const TensorTrainShape shape = tensor_train_shape(table);
  std::vector<TouchedTable> cores;
  for (const Table& core : core_tables(table)) {
    const int t = static_cast<int>(cores.size());
    const auto entries = [dim = core.dim, all = initial_core(table, shape, number, t, initial)](
                             std::int64_t slice, std::span<float> values, auto) {
      std::ranges::copy(row_of(all, slice, dim), values.begin());
    };
    cores.emplace_back(core, core_number(number, t), initial.seed, entries);
  }
  return cores;
}

/// Rows of the cache are fp32 whatever the cores are stored as. They are given values when they enter.
TouchedTable without_rows(Table table, std::int64_t number) {
  table.value_type = ValueType::fp32;
  return {table, number, 0, [](std::int64_t, auto, auto) {}};
}

/// Adds `others` to `values`, in fp32.
void add(std::span<const float> others, std::span<const float> bounds_of_others, std::span<float> values,
         std::span<float> bounds) {
  for (std::size_t c = 0; c < values.size(); ++c) {
    const double sum = double{values[c]} + double{others[c]}, error = double{bounds[c]} + double{bounds_of_others[c]};
    values[c] = static_cast<float>(sum);
    bounds[c] = static_cast<float>(error + rounding_error(2, std::abs(sum) + error));
  }
}

void copy_row(const TouchedTable& from, TouchedTable& to, std::int64_t row) {
  const std::int64_t source = from.find(row), slot = to.touch(row);
  std::ranges::copy(from.values(source), to.values(slot).begin());
  std::ranges::copy(from.value_bounds(source), to.value_bounds(slot).begin());
  std::ranges::copy(from.state(source), to.state(slot).begin());
  std::ranges::copy(from.state_bounds(source), to.state_bounds(slot).begin());
}

}  // namespace

CachedTt::CachedTt(const Table& table, std::int64_t number, const RowValues& initial)
    : tt_(tensor_train_shape(table), initial_core_tables(table, number, initial)),
      has_cache_(table.tensor_train.cache.rows > 0 && table.tensor_train.cache.writes == CacheWrites::trained),
      populate_every_(table.tensor_train.cache.populate_every),
      cache_(table.tensor_train.cache),
      cached_(without_rows(table, number)) {}

void CachedTt::row(std::int64_t row, std::span<float> values, std::span<float> bounds) {
  if (const std::int64_t slot = cached_.find(row); slot >= 0) {
    std::ranges::copy(std::as_const(cached_).values(slot), values.begin());
    std::ranges::copy(std::as_const(cached_).value_bounds(slot), bounds.begin());
    return;
  }
  tt_.row(row, values, bounds);
  const auto difference = differences_.find(row);
  if (difference == differences_.end()) return;
  add(difference->second.values, difference->second.bounds, values, bounds);
}

void CachedTt::add_gradient(std::int64_t row, std::int64_t uses, const BoundedGradient& gradient, std::int64_t step) {
  if (has_cache_) cache_.count(row, uses);
  if (const std::int64_t slot = cached_.find(row); slot >= 0)
    bounded_step(cached_, slot, step, gradient.value, gradient.error);
  else
    tt_.add_gradient(row, uses, gradient);
}

void CachedTt::finish(std::int64_t step) {
  update_slices(step);
  if (has_cache_ && step % populate_every_ == 0) populate();
}

void CachedTt::populate() {
  const auto [entered, left] = cache_.populate();
  TouchedTable cached = cached_.untouched();
  for (const std::int64_t row : cached_.rows())
    if (cache_.contains(row)) copy_row(cached_, cached, row);
  for (const std::int64_t row : entered) {
    const std::int64_t slot = cached.touch(row);
    this->row(row, cached.values(slot), cached.value_bounds(slot));
  }
  for (const std::int64_t row : left) {
    Difference difference{std::vector<float>(cached_.table().dim), {}};
    difference.bounds.resize(difference.values.size());
    tt_.row(row, difference.values, difference.bounds);
    for (float& x : difference.values) x = -x;
    const std::int64_t slot = cached_.find(row);
    add(std::as_const(cached_).values(slot), std::as_const(cached_).value_bounds(slot), difference.values,
        difference.bounds);
    differences_[row] = std::move(difference);
  }
  for (const std::int64_t row : entered) differences_.erase(row);
  cached_ = std::move(cached);
}

}  // namespace shardmark::reference
