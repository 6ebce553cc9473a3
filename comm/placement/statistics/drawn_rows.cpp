// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "comm/placement/statistics/power_law.hpp"
#include "comm/placement/statistics/row_distribution.hpp"
#include "comm/placement/statistics/smooth_sum.hpp"

namespace shardmark::placement {
namespace {

/// Returns the logarithm of the probability that a list of `hotness` ids, or of 0 to twice as many, names none of the
/// rows that an id names with probability p.
double log_missed(double hotness, double p, bool ragged) {
  if (!ragged) return hotness * std::log1p(-p);
  // The mean of (1 - p)^length over lengths 0 to 2 x hotness is a geometric series; its first terms for small p, where
  // the quotient loses digits.
  const double lengths = 2 * hotness + 1;
  if (lengths * p < 1e-7) return -hotness * p;
  return std::log(-std::expm1(lengths * std::log1p(-p)) / (lengths * p));
}

/// Returns the same of a segment of a sample; of the whole sample where its ids are not nested.
double log_missed_by_segment(const Feature& feature, double p, bool ragged) {
  return log_missed(static_cast<double>(feature.hotness / std::max<std::int64_t>(feature.segments, 1)), p, ragged);
}

/// Returns the same of a sample: a list of segments, each of which names such rows with a probability.
double log_missed_by_sample(const Feature& feature, double p, bool ragged) {
  const double of_segment = log_missed_by_segment(feature, p, ragged);
  if (feature.segments == 0) return of_segment;
  return log_missed(static_cast<double>(feature.segments), -std::expm1(of_segment), ragged);
}

/// Sums over row sets of a smooth value of the row. Keeps what shards of one split share.
class RowSums {
 public:
  /// Returns the sum over a row set; `number` distinguishes the values.
  template <class Value>
  double of(const RowSet& rows, std::int64_t number, const Value& value) const {
    const std::int64_t count = rows.count(), skipped = rows.begin / rows.stride, end = skipped + count;
    const auto stride = static_cast<double>(rows.stride);
    const double phase = static_cast<double>(rows.begin % rows.stride) / stride;
    const auto of_strides = [&](double strides) { return value(strides * stride); };
    double sum = 0.0;
    const std::int64_t smooth = std::max(skipped, smooth_from);
    for (std::int64_t i = skipped; i < std::min(end, smooth); ++i) sum += of_strides(static_cast<double>(i) + phase);
    if (smooth >= end) return sum;
    if (rows.stride == 1) return sum + smooth_sum(smooth, end, 0.0, of_strides);
    const std::int64_t common = rows.end / rows.stride;  // where the sets of all phases have ended, but for one row
    if (common > smooth) sum += shared(rows, number, smooth, common, of_strides)(phase);
    for (std::int64_t i = std::max(smooth, common); i < end; ++i) sum += of_strides(static_cast<double>(i) + phase);
    return sum;
  }

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

  template <class Value>
  const FourPoints& shared(const RowSet& rows, std::int64_t number, std::int64_t first, std::int64_t last,
                           const Value& value) const {
    const auto [found, is_new] = shared_.try_emplace(Key{rows.stride, first, last, number});
    if (is_new)
      for (std::size_t i = 0; i < FourPoints::at.size(); ++i)
        found->second.values[i] = smooth_sum(first, last, FourPoints::at[i], value);
    return found->second;
  }

  mutable std::map<Key, FourPoints> shared_;
};

class DrawnRows : public RowDistribution {
 public:
  DrawnRows(std::int64_t rows, std::span<const Feature> features, const IdStatistics& ids)
      : rows_(rows), ids_(ids), law_(rows, ids.alpha), features_(features.begin(), features.end()) {
    if (ids.ragged) return;
    for (const Feature& feature : features) ids_per_sample_ += static_cast<double>(feature.hotness);
  }

  double mass(const RowSet& rows) const override {
    if (alike()) return share(rows);
    if (rows.stride == 1 && rows.count() > 0)
      return law_.mass(static_cast<double>(rows.begin), static_cast<double>(rows.end));
    return std::min(1.0, sums_.of(rows, 0, law_));
  }

  double distinct(const RowSet& rows, std::int64_t samples) const override {
    const auto named = [&](double row) {
      return -std::expm1(static_cast<double>(samples) * log_missed_by_features(row));
    };
    if (ids_.alpha == 0.0) return static_cast<double>(rows.count()) * named(0.0);
    if (ids_.scattered) return share(rows) * sums_.of({0, rows_, 1}, samples, named);
    return sums_.of(rows, samples, named);
  }

  double repeated(std::int64_t samples, double kept) const {
    const auto n = static_cast<double>(samples);
    const auto named_twice = [&](double row) {
      const double p = law_(row);
      double missed = 0.0, missed_if_one_missed = 0.0;
      for (const Feature& feature : features_) {
        const double of_sample = log_missed_by_sample(feature, p, ids_.ragged);
        missed += of_sample;
        missed_if_one_missed += std::log1p((1.0 - kept) * std::expm1(of_sample));
      }
      return -std::expm1(n * missed) + std::exp(n * missed) * std::expm1(n * missed_if_one_missed);
    };
    if (ids_.alpha == 0.0) return static_cast<double>(rows_) * named_twice(0.0);
    return sums_.of({0, rows_, 1}, samples, named_twice);
  }

  double touched(std::size_t feature, double mass) const override {
    const Feature& of = features_[feature];
    return -std::expm1(of.segment_rank == 0 ? log_missed_by_sample(of, mass, ids_.ragged)
                                            : log_missed_by_segment(of, mass, ids_.ragged));
  }

  double hotness(std::size_t feature) const override { return static_cast<double>(features_[feature].hotness); }

 private:
  bool alike() const { return ids_.scattered || ids_.alpha == 0.0; }
  double share(const RowSet& rows) const { return static_cast<double>(rows.count()) / static_cast<double>(rows_); }

  double log_missed_by_features(double row) const {
    const double p = law_(row);
    if (!ids_.ragged) return log_missed(ids_per_sample_, p, false);
    double sum = 0.0;
    for (const Feature& feature : features_) sum += log_missed_by_sample(feature, p, true);
    return sum;
  }

  std::int64_t rows_;
  IdStatistics ids_;
  PowerLaw law_;
  std::vector<Feature> features_;
  double ids_per_sample_ = 0.0;
  RowSums sums_;
};

}  // namespace

std::unique_ptr<RowDistribution> drawn_rows(std::int64_t rows, std::span<const Feature> features,
                                            const IdStatistics& ids) {
  return std::make_unique<DrawnRows>(rows, features, ids);
}

double repeated_rows(std::int64_t rows, std::span<const Feature> features, const IdStatistics& ids,
                     std::int64_t samples, double kept) {
  return DrawnRows(rows, features, ids).repeated(samples, kept);
}

}  // namespace shardmark::placement
