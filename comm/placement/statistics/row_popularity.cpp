// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/statistics/row_popularity.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <span>

namespace shardmark::placement {
namespace {

int class_of(std::int64_t ids) {
  constexpr std::int64_t exact = 8;
  if (ids <= exact) return static_cast<int>(ids);
  return static_cast<int>(exact + 1 + std::floor(4.0 * std::log2(static_cast<double>(ids) / exact)));
}

/// Cuts the rows into ranges. counts: by row.
std::vector<RowPopularity::Range> ranges_of(std::int64_t rows, std::span<const RowCount> counts) {
  std::int64_t all = 0, before = 0;
  for (const RowCount& count : counts) all += count.ids;
  std::vector<RowPopularity::Range> ranges;
  std::map<int, RowPopularity::Class> classes;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    RowPopularity::Class& like = classes[class_of(counts[i].ids)];
    ++like.rows;
    like.ids += counts[i].ids;
    before += counts[i].ids;
    const bool full = before >= (std::ssize(ranges) + 1) * (all / RowPopularity::ranges_of_others + 1);
    if (!full && i + 1 < counts.size()) continue;
    auto& range = ranges.emplace_back(i + 1 < counts.size() ? counts[i].row + 1 : rows);
    for (const auto& [number, rows_alike] : classes) range.classes.push_back(rows_alike);
    classes.clear();
  }
  return ranges;
}

}  // namespace

std::int64_t RowPopularity::ids() const {
  std::int64_t sum = 0;
  for (const RowCount& row : popular) sum += row.ids;
  for (const Range& range : ranges)
    for (const Class& like : range.classes) sum += like.ids;
  return sum;
}

std::int64_t RowPopularity::named() const {
  std::int64_t sum = std::ssize(popular);
  for (const Range& range : ranges)
    for (const Class& like : range.classes) sum += like.rows;
  return sum;
}

double RowPopularity::mass_of_most_popular(std::int64_t n) const {
  std::vector<Class> all;
  for (const RowCount& row : popular) all.push_back({1, row.ids});
  for (const Range& range : ranges) all.insert(all.end(), range.classes.begin(), range.classes.end());
  const auto frequency = [](const Class& c) { return static_cast<double>(c.ids) / static_cast<double>(c.rows); };
  std::ranges::sort(all, std::greater{}, frequency);
  double mass = 0.0;
  for (auto like = all.begin(); like != all.end() && n > 0; ++like) {
    mass += frequency(*like) * static_cast<double>(std::min(n, like->rows));
    n -= like->rows;
  }
  const std::int64_t of_all = ids();
  return of_all > 0 ? mass / static_cast<double>(of_all) : 0.0;
}

RowPopularity popularity_of(std::int64_t rows, std::vector<RowCount> counts) {
  const auto singly = counts.begin() + std::min(std::ssize(counts), RowPopularity::popular_rows);
  const auto more_popular = [](const RowCount& a, const RowCount& b) {
    return a.ids != b.ids ? a.ids > b.ids : a.row < b.row;
  };
  if (singly != counts.end()) std::ranges::nth_element(counts, singly, more_popular);
  std::ranges::sort(counts.begin(), singly, {}, &RowCount::row);
  std::ranges::sort(singly, counts.end(), {}, &RowCount::row);
  return {.rows = rows, .popular = {counts.begin(), singly}, .ranges = ranges_of(rows, {singly, counts.end()})};
}

}  // namespace shardmark::placement
