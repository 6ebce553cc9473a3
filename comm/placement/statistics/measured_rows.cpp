// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "comm/placement/statistics/measured_ids.hpp"

namespace shardmark::placement {
namespace {

/// Returns the probability that n of N samples name a row that c ids of the N do.
double named_by(double n, double c, double samples) {
  if (n + c > samples) return 1.0;
  const double terms = std::min(n, c), missing = std::max(n, c);
  return -std::expm1(terms * std::log1p(-missing / (samples - 0.5 * (terms - 1.0))));
}

/// Rows of `rows` in [begin, end).
RowSet part_of(const RowSet& rows, std::int64_t begin, std::int64_t end) {
  const std::int64_t skipped = begin <= rows.begin ? 0 : (begin - rows.begin + rows.stride - 1) / rows.stride;
  return {rows.begin + skipped * rows.stride, std::min(end, rows.end), rows.stride};
}

class MeasuredRows : public RowDistribution {
 public:
  MeasuredRows(const RowPopularity& popularity, std::int64_t samples, std::span<const MeasuredIds::BagLengths> bags)
      : popularity_(popularity), samples_(samples), bags_(bags.begin(), bags.end()) {
    for (const RowCount& row : popularity.popular) mass_.popular.push_back(static_cast<double>(row.ids));
    for (const RowPopularity::Range& range : popularity.ranges) {
      double& ids = mass_.ranges.emplace_back(0.0);
      for (const RowPopularity::Class& like : range.classes) ids += static_cast<double>(like.ids);
    }
    ids_ = static_cast<double>(popularity.ids());
  }

  double mass(const RowSet& rows) const override { return ids_ > 0.0 ? std::min(1.0, sum(mass_, rows) / ids_) : 0.0; }

  double distinct(const RowSet& rows, std::int64_t samples) const override {
    const auto [found, is_new] = named_.try_emplace(std::min(samples, samples_));
    if (is_new) found->second = named(static_cast<double>(found->first));
    return sum(found->second, rows);
  }

  double touched(std::size_t feature, double mass) const override {
    double touched = 0.0;
    for (const auto& [length, bags] : bags_[feature])
      if (length > 0)
        touched -= static_cast<double>(bags) * std::expm1(static_cast<double>(length) * std::log1p(-mass));
    return touched / static_cast<double>(samples_);
  }

  double hotness(std::size_t feature) const override {
    double ids = 0.0;
    for (const auto& [length, bags] : bags_[feature]) ids += static_cast<double>(length) * static_cast<double>(bags);
    return ids / static_cast<double>(samples_);
  }

 private:
  /// Holds an amount for each popular row, and one for all rows of each range.
  struct Amounts {
    std::vector<double> popular, ranges;
  };

  Amounts named(double samples) const {
    const auto all = static_cast<double>(samples_);
    Amounts named;
    for (const double ids : mass_.popular) named.popular.push_back(named_by(samples, ids, all));
    for (const RowPopularity::Range& range : popularity_.ranges) {
      double& rows = named.ranges.emplace_back(0.0);
      for (const RowPopularity::Class& like : range.classes) {
        const auto alike = static_cast<double>(like.rows);
        rows += alike * named_by(samples, static_cast<double>(like.ids) / alike, all);
      }
    }
    return named;
  }

  double sum(const Amounts& amounts, const RowSet& rows) const {
    double sum = 0.0;
    auto row = popularity_.popular.begin();
    std::int64_t begin = 0;
    // Adds the popular rows before `end` and says how many of them are there at all, and in the set.
    const auto popular_before = [&](std::int64_t end) {
      std::pair<std::int64_t, std::int64_t> count;
      for (; row != popularity_.popular.end() && row->row < end; ++row, ++count.first) {
        if (!rows.contains(row->row)) continue;
        ++count.second;
        sum += amounts.popular[row - popularity_.popular.begin()];
      }
      return count;
    };
    for (std::size_t r = 0; r < popularity_.ranges.size(); ++r) {
      const std::int64_t end = popularity_.ranges[r].end;
      const auto [popular, of_set] = popular_before(end);
      const std::int64_t held = part_of(rows, begin, end).count() - of_set;
      sum += amounts.ranges[r] * static_cast<double>(held) / static_cast<double>(end - begin - popular);
      begin = end;
    }
    popular_before(popularity_.rows);
    return sum;
  }

  RowPopularity popularity_;
  std::int64_t samples_;
  std::vector<MeasuredIds::BagLengths> bags_;
  double ids_ = 0.0;
  Amounts mass_;
  mutable std::map<std::int64_t, Amounts> named_;  ///< by samples
};

}  // namespace

std::unique_ptr<RowDistribution> measured_rows(const RowPopularity& popularity, std::int64_t samples,
                                               std::span<const MeasuredIds::BagLengths> bags) {
  return std::make_unique<MeasuredRows>(popularity, samples, bags);
}

}  // namespace shardmark::placement
