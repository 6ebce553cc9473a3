// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "reference/computed_rows.hpp"
#include "reference/row_values.hpp"
#include "reference/tensor_train/bounded_tt.hpp"
#include "reference/tensor_train/row_cache.hpp"

namespace shardmark::reference {

/// Is a table of Storage::tt, with the cache of CacheWrites::trained if it has one. P being the product of the slices:
///   the value of a row is w if it is cached, else P + d; d = 0 unless the row once left the cache;
///   the gradient of a cached row trains w alone (as fp32, with the optimizer of the table and a state of its own,
///   which is initial when the row enters), that of any other row its slices alone; a row that leaves keeps d = w - P,
///   one that enters begins with w = P + d.
/// So a choice of cached rows changes the value of no row but by rounding, and forgets nothing that was learned.
/// CacheWrites::read_only changes no value at all and so is not known here.
class CachedTt : public ComputedRows {
 public:
  CachedTt(const Table& table, std::int64_t number, const RowValues& initial);

  std::span<const TouchedTable> parts() const override { return tt_.cores(); }
  const CachedRows& cache() const { return cache_; }
  /// Returns w and state of the rows that are cached.
  const TouchedTable& cached() const { return cached_; }
  /// Returns how many rows left the cache and are not in it now.
  std::int64_t differences() const { return std::ssize(differences_); }

  void row(std::int64_t row, std::span<float> values, std::span<float> bounds) override;
  void add_gradient(std::int64_t row, std::int64_t uses, const BoundedGradient& gradient, std::int64_t step) override;
  /// Updates the slices by what was added, and where it is time chooses the cached rows again: populate().
  void finish(std::int64_t step) override;
  void update_slices(std::int64_t step) { tt_.step(step); }
  void populate();

 private:
  struct Difference {
    std::vector<float> values, bounds;
  };

  BoundedTt tt_;
  bool has_cache_;
  std::int64_t populate_every_;
  CachedRows cache_;
  TouchedTable cached_;
  std::map<std::int64_t, Difference> differences_;  ///< d, for the rows that left
};

}  // namespace shardmark::reference
