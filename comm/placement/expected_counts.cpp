// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/expected_counts.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace shardmark {
namespace {

/// p_i of IdStatistics.
class RowProbability {
 public:
  RowProbability(std::int64_t rows, double alpha) : exponent_(1.0 - alpha) {
    total_ = integral(std::log(static_cast<double>(rows) + 1.0));
  }
  /// `row` need not be whole.
  double operator()(double row) const {
    const double y = row + 1.0;
    return std::min(1.0, std::exp(exponent_ * std::log(y)) * integral(std::log1p(1.0 / y)) / total_);
  }

 private:
  /// G of e^log_y, without loss of digits for a small exponent or logarithm.
  double integral(double log_y) const { return exponent_ == 0.0 ? log_y : std::expm1(exponent_ * log_y) / exponent_; }

  double exponent_, total_ = 1.0;
};

/// The sum of value(row) over the rows, for a value that changes little from one row to the next where rows are many.
template <class Value>
double sum_over(const RowSet& rows, const Value& value) {
  constexpr std::int64_t one_by_one = 256;
  constexpr std::array points{-0.7745966692414834, 0.0, 0.7745966692414834};
  constexpr std::array weights{5.0 / 18, 8.0 / 18, 5.0 / 18};
  const auto row_at = [&](double local) {
    return static_cast<double>(rows.begin) + local * static_cast<double>(rows.stride);
  };
  const std::int64_t count = rows.count();
  double sum = 0.0;
  for (std::int64_t l = 0; l < std::min(count, one_by_one); ++l) sum += value(row_at(static_cast<double>(l)));
  for (std::int64_t l = one_by_one; l < count;) {
    // The sum over rows l to end - 1 is nearly the integral from l - 1/2 to end - 1/2.
    const std::int64_t end = std::min(count, l + (rows.begin / rows.stride + l) / 16);
    const double length = static_cast<double>(end - l), middle = static_cast<double>(l) + 0.5 * (length - 1.0);
    for (std::size_t k = 0; k < points.size(); ++k)
      sum += length * weights[k] * value(row_at(middle + 0.5 * length * points[k]));
    l = end;
  }
  return sum;
}

/// The logarithm of the probability that a bag names none of the rows that an id names with probability p.
double log_missed(const Feature& feature, double p, bool ragged) {
  const auto hotness = static_cast<double>(feature.hotness);
  if (!ragged) return hotness * std::log1p(-p);
  // The mean of (1 - p)^length over lengths 0 to 2 x hotness is a geometric series; its first terms for small p, where
  // the quotient loses digits.
  const double lengths = 2 * hotness + 1;
  if (lengths * p < 1e-7) return -hotness * p;
  return std::log(-std::expm1(lengths * std::log1p(-p)) / (lengths * p));
}

class TableCounts {
 public:
  TableCounts(const Table& table, std::int64_t t, std::span<const Feature> features, std::int64_t samples,
              const IdStatistics& ids)
      : table_(table), samples_(static_cast<double>(samples)), ids_(ids), probability_(table.rows, ids.alpha) {
    std::ranges::copy_if(features, std::back_inserter(features_), [t](const Feature& f) { return f.table == t; });
  }

  ShardCounts of(const RowSet& rows) const {
    if (features_.empty() || samples_ == 0.0) return {};
    const double share = static_cast<double>(rows.count()) / static_cast<double>(table_.rows);
    const bool alike = ids_.scattered || ids_.alpha == 0.0;
    const double held = alike ? share : sum_over(rows, probability_);
    ShardCounts counts;
    for (const Feature& feature : features_) {
      const double ids = samples_ * static_cast<double>(feature.hotness);
      const double touched = -std::expm1(log_missed(feature, std::min(held, 1.0), ids_.ragged));
      counts.bags += feature.pooling == Pooling::none ? ids : samples_;
      counts.ids += ids * held;
      counts.touched_bags += feature.pooling == Pooling::none ? ids * held : samples_ * touched;
    }
    counts.distinct_rows = distinct(rows, share);
    return counts;
  }

 private:
  double distinct(const RowSet& rows, double share) const {
    const auto named = [this](double row) {
      double by_sample = 0.0;
      for (const Feature& feature : features_) by_sample += log_missed(feature, probability_(row), ids_.ragged);
      return -std::expm1(samples_ * by_sample);
    };
    if (ids_.alpha == 0.0) return static_cast<double>(rows.count()) * named(0.0);
    if (ids_.scattered) return share * sum_over({0, table_.rows, 1}, named);
    return sum_over(rows, named);
  }

  const Table& table_;
  double samples_;
  IdStatistics ids_;
  RowProbability probability_;
  std::vector<Feature> features_;
};

}  // namespace

PlanCounts expected_counts(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                           std::int64_t samples, const IdStatistics& ids) {
  PlanCounts counts(tables.size());
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const TableCounts of_table(tables[t], static_cast<std::int64_t>(t), features, samples, ids);
    for (const Shard& shard : counted_shards(plan.tables[t], tables[t])) counts[t].push_back(of_table.of(shard.rows));
  }
  return counts;
}

}  // namespace shardmark
