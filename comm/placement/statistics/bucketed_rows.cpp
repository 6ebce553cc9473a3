// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "comm/placement/statistics/row_distribution.hpp"

namespace shardmark::placement {
namespace {

class BucketedRows : public RowDistribution {
 public:
  BucketedRows(std::unique_ptr<RowDistribution> rows, const Table& table, std::int64_t number)
      : rows_(std::move(rows)), table_(table), number_(number), single_(std::min<std::int64_t>(table.rows, 256)) {}

  double mass(const RowSet& rows) const override {
    return held(rows, [&](const RowSet& some) { return rows_->mass(some); });
  }
  double distinct(const RowSet& rows, std::int64_t samples) const override {
    return held(rows, [&](const RowSet& some) { return rows_->distinct(some, samples); });
  }
  double touched(std::size_t feature, double mass) const override { return rows_->touched(feature, mass); }
  double hotness(std::size_t feature) const override { return rows_->hotness(feature); }

 private:
  /// Returns the amount of what a shard holds: first rows one by one, their share of the later ones.
  template <class Amount>
  double held(const RowSet& rows, const Amount& amount) const {
    if (rows.count() == table_.rows) return amount(rows);
    const HeldRows keys(rows, table_, number_);
    double sum = 0.0;
    for (std::int64_t row = 0; row < single_; ++row)
      if (keys.contains(table_.any_key ? drawn_key(table_, number_, row) : row)) sum += amount({row, row + 1, 1});
    const double share = static_cast<double>(rows.count()) / static_cast<double>(table_.rows);
    return sum + (single_ < table_.rows ? share * amount({single_, table_.rows, 1}) : 0.0);
  }

  std::unique_ptr<RowDistribution> rows_;
  Table table_;
  std::int64_t number_;
  std::int64_t single_;
};

}  // namespace

std::unique_ptr<RowDistribution> bucketed_rows(std::unique_ptr<RowDistribution> rows, const Table& table,
                                               std::int64_t number) {
  return std::make_unique<BucketedRows>(std::move(rows), table, number);
}

}  // namespace shardmark::placement
