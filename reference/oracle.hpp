// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reference/batch.hpp"
#include "reference/touched_table.hpp"

namespace shardmark::reference {

/// Values and, for each, by how much another correct evaluation may differ (see TouchedTable).
struct Expected {
  std::vector<float> values;
  std::vector<float> bounds;
};

/// Whole training steps of all tables on one rank, serially: what every distributed step is compared with.
///
/// Bounds, with u = 2^-24 and n terms in a sum: an output may differ by (n + 2) u sum|w x| and by what its rows may
/// differ; a summed gradient by (n + 2) u sum|w g|; an updated row by the largest change that this gradient error
/// causes, by (8 + dim/2) u of the update and by 2 u of the row. All are 0 for a "bit exact" table: exact row values
/// (RowValues::unit > 0), SGD, and features that pool by sum or not at all. Then every fp32 sum is exact in any order
/// as long as it stays within 2^24 units, which is verified: InputError names the table whose sums grow beyond.
class Oracle {
 public:
  Oracle(const std::vector<Table>& tables, std::vector<Feature> features, const RowValues& rows,
         const GradientValues& gradients);

  /// Pooled output of samples [first, first + count) of `feature`, [count, dim]; [ids, dim] for Pooling::none.
  Expected lookup(const Batch& batch, std::int64_t feature, std::int64_t first, std::int64_t count);

  /// Updates every row that the global batch touches, by the gradients of step number `step`.
  void update(const Batch& batch, std::int64_t step);

  bool bit_exact(std::int64_t table) const { return bit_exact_[static_cast<std::size_t>(table)]; }
  const TouchedTable& table(std::int64_t number) const { return tables_[static_cast<std::size_t>(number)]; }

 private:
  void update_table(const Batch& batch, std::int64_t step, std::int64_t number);

  std::vector<Feature> features_;
  GradientValues gradients_;
  std::vector<TouchedTable> tables_;
  std::vector<bool> bit_exact_;
};

}  // namespace shardmark::reference
