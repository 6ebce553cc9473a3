// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <set>

#include "kernels/tensor_train/row_cache.hpp"
#include "kernels/test/bags.hpp"

namespace shardmark::kernels::test {

using Rows = std::vector<std::int64_t>;
using RowUses = std::map<std::int64_t, std::int64_t>;

/// A directory, the rule beside it, and in the place of vectors the number of the row that each slot is for.
class MarkedRows {
 public:
  MarkedRows(std::int64_t rows, const RowCache& cache, const Space& exec = Space())
      : exec_(exec),
        rule_(cache),
        directory_(row_cache_shape(cache), rows, cache.writes),
        rows_(rows),
        marks_(at(directory_.shape().rows()), row_not_cached) {}

  const RowCacheDirectory<Space>& directory() const { return directory_; }
  RowCacheCounts counts() const { return directory_.counts(exec_); }
  RowUses cached() const { return used(directory_.arrays().rows, directory_.arrays().uses); }
  RowUses counted() const { return used(directory_.arrays().counted_rows, directory_.arrays().counted_uses); }

  Rows find(const Rows& rows) const {
    const Array<Space, std::int64_t> slots("slots", rows.size());
    directory_.find(exec_, array_of(exec_, rows, "rows"), version_, slots);
    return host(slots);
  }

  /// A step's lookup of these rows: hits are checked to be the rows that they claim, and stale copies refreshed.
  void lookup(const Rows& rows, bool ascending = true) {
    const Rows slots = find(rows);
    RowUses step, missed;
    std::set<std::int64_t> stale;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool is_stale = slots[i] < row_not_cached;
      const std::int64_t slot = is_stale ? stale_slot(slots[i]) : slots[i];
      if (is_stale) stale.insert(slot);
      EXPECT_EQ(slot == row_not_cached ? rows[i] : marks_[at(slot)], rows[i]);
      if (slots[i] < 0) ++missed[rows[i]];
      ++step[rows[i]];
    }
    for (const auto& [row, uses] : step) rule_.count(row, uses);
    directory_.count_found(exec_, array_of(exec_, slots, "slots"));
    Rows distinct, uses;
    for (const auto& [row, row_uses] : missed) distinct.push_back(row), uses.push_back(row_uses);
    if (!ascending) std::reverse(distinct.begin(), distinct.end()), std::reverse(uses.begin(), uses.end());
    directory_.count_missed(exec_, array_of(exec_, distinct, "missed"), array_of(exec_, uses, "uses"), ascending);
    directory_.set_version(exec_, array_of(exec_, Rows(stale.begin(), stale.end()), "stale"), version_);
  }

  void populate() {
    auto [entering, leaving] = rule_.populate();
    std::sort(entering.begin(), entering.end());
    std::sort(leaving.begin(), leaving.end());
    const auto changes = directory_.populate(exec_);
    ASSERT_EQ(host(changes.leaving_rows), leaving);
    ASSERT_EQ(host(changes.entering_rows), entering);
    const Rows left = host(changes.leaving_slots), entered = host(changes.entering_slots);
    for (std::size_t i = 0; i < left.size(); ++i) {
      EXPECT_EQ(marks_[at(left[i])], leaving[i]);
      marks_[at(left[i])] = row_not_cached;
    }
    for (std::size_t i = 0; i < entered.size(); ++i) {
      EXPECT_EQ(marks_[at(entered[i])], row_not_cached);
      marks_[at(entered[i])] = entering[i];
    }
    directory_.set_version(exec_, changes.entering_slots, version_);
  }

  /// Copies are stale now.
  void change_cores() {
    ++version_;
    rule_.cores_changed();
  }

  void expect_equal_to_the_rule() const {
    const RowUses cached = this->cached(), counted = this->counted();
    for (std::int64_t row = 0; row < rows_; ++row) {
      ASSERT_EQ(cached.contains(row), rule_.contains(row)) << "row " << row;
      ASSERT_FALSE(cached.contains(row) && counted.contains(row)) << "row " << row;
      const RowUses& uses = cached.contains(row) ? cached : counted;
      ASSERT_EQ(uses.contains(row) ? uses.at(row) : 0, rule_.uses(row)) << "row " << row;
    }
    EXPECT_EQ(counts(), rule_.counts());
  }

 private:
  static RowUses used(const Array<Space, std::int64_t>& rows, const Array<Space, std::int64_t>& uses) {
    const Rows host_rows = host(rows), host_uses = host(uses);
    RowUses result;
    for (std::size_t i = 0; i < host_rows.size(); ++i) {
      const bool taken = host_rows[i] != row_not_cached;
      EXPECT_TRUE(taken || host_uses[i] == 0) << "uses of a place without a row";
      EXPECT_TRUE(!taken || result.emplace(host_rows[i], host_uses[i]).second) << "row " << host_rows[i] << " twice";
    }
    return result;
  }

  Space exec_;
  reference::CachedRows rule_;
  RowCacheDirectory<Space> directory_;
  std::int64_t rows_;
  Rows marks_;
  std::int64_t version_ = 0;
};

/// Rows of Zipf's law with exponent 1.05, whose hot ones wander: rank k of step s is row (k + s drift) stride mod rows.
struct DriftingIds {
  std::int64_t rows;
  std::int64_t drift;
  Random random;
  std::vector<double> weights{};

  Rows operator()(std::int64_t step, std::int64_t count) {
    constexpr std::int64_t stride = 7919;  // a prime, so that neighbours in rank are no neighbours in number
    for (auto k = std::ssize(weights); k < rows; ++k) weights.push_back(std::pow(static_cast<double>(k + 1), -1.05));
    std::discrete_distribution<std::int64_t> ranks(weights.begin(), weights.end());
    Rows ids(at(count));
    for (auto& id : ids) id = (ranks(random) + step * drift) % rows * stride % rows;
    return ids;
  }
};

}  // namespace shardmark::kernels::test
