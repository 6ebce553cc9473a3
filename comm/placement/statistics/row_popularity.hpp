// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace shardmark::placement {

/// Holds a row and how many ids name it.
struct RowCount {
  std::int64_t row = 0;
  std::int64_t ids = 0;

  bool operator==(const RowCount&) const = default;
};

/// Stores in little space how often the rows of a table are named in some samples: the most popular rows singly, the
/// others by where they lie and how often they are named. It is exact for tables of which at most `popular_rows` rows
/// are named.
struct RowPopularity {
  static constexpr std::int64_t popular_rows = 4096;
  static constexpr int ranges_of_others = 64;

  /// A Class counts rows that are named about as often: ids / rows times each.
  struct Class {
    std::int64_t rows = 0;
    std::int64_t ids = 0;

    bool operator==(const Class&) const = default;
  };
  /// A Range holds the other rows from the end of the range before it to `end`; ranges are cut so that each has about
  /// 1/ranges_of_others of the ids of these rows. It has a class for each number of ids up to 8, then four per
  /// doubling.
  struct Range {
    std::int64_t end = 0;
    std::vector<Class> classes;

    bool operator==(const Range&) const = default;
  };

  std::int64_t rows = 0;          ///< of the table
  std::vector<RowCount> popular;  ///< by row
  std::vector<Range> ranges;      ///< one after the other, the last one ends at `rows`

  std::int64_t ids() const;    ///< that name any row
  std::int64_t named() const;  ///< different rows
  /// Returns the share of the ids that name the n most popular rows, wherever they lie.
  double mass_of_most_popular(std::int64_t n) const;

  bool operator==(const RowPopularity&) const = default;
};

/// Returns the popularity of `rows` rows. counts: each row that is named, once, in any order; every row is below
/// `rows`.
RowPopularity popularity_of(std::int64_t rows, std::vector<RowCount> counts);

}  // namespace shardmark::placement
