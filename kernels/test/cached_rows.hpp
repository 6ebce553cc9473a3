// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>

#include "kernels/tensor_train/row_cache.hpp"
#include "kernels/test/bags.hpp"

namespace shardmark::kernels::test {

using Rows = std::vector<std::int64_t>;
using RowUses = std::map<std::int64_t, std::int64_t>;

/// The rule of the row cache, with maps in the place of ways and slots.
struct ModelRowCache {
  RowCacheShape shape;
  RowUses cached, counted;
  RowCacheCounts counts;

  std::int64_t in_set(const RowUses& rows, std::int64_t set) const {
    return std::count_if(rows.begin(), rows.end(), [&](const auto& entry) { return shape.set_of(entry.first) == set; });
  }
  void count(const RowUses& step, const auto& is_stale) {
    for (const auto& [row, uses] : step) {
      if (cached.contains(row)) {
        cached[row] += uses;
        (is_stale(row) ? counts.stale : counts.hits) += uses;
        continue;
      }
      counts.misses += uses;
      if (counted.contains(row) || in_set(counted, shape.set_of(row)) < shape.count_slots)
        counted[row] += uses;
      else
        counts.drops += uses;
    }
  }
  void populate() {
    std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> candidates;
    for (const auto* rows : {&cached, &counted})
      for (const auto& [row, uses] : *rows) candidates[shape.set_of(row)].emplace_back(-uses, row);
    RowUses chosen;
    for (auto& [set, rows] : candidates) {
      std::sort(rows.begin(), rows.end());
      rows.resize(std::min(rows.size(), at(shape.ways)));
      for (const auto& [uses, row] : rows) chosen[row] = -uses;
    }
    for (const auto& [row, uses] : cached) counts.evictions += !chosen.contains(row);
    for (const auto& [row, uses] : chosen) counted.erase(row);
    cached = chosen;
    for (auto* rows : {&cached, &counted})
      for (auto& [row, uses] : *rows) uses /= 2;
    std::erase_if(counted, [](const auto& entry) { return entry.second == 0; });
  }
};

/// A directory, the rule beside it, and in the place of vectors the number of the row that each slot is for.
class CachedRows {
 public:
  CachedRows(std::int64_t rows, const RowCache& cache, const Space& exec = Space())
      : exec_(exec),
        model_{row_cache_shape(cache), {}, {}, {}},
        directory_(model_.shape, rows, cache.writes),
        vectors_(at(model_.shape.rows()), row_not_cached) {}

  const RowCacheDirectory<Space>& directory() const { return directory_; }
  const ModelRowCache& model() const { return model_; }
  RowCacheCounts counts() const { return directory_.counts(exec_); }
  RowUses cached() const { return used(directory_.arrays().rows, directory_.arrays().uses); }
  RowUses counted() const { return used(directory_.arrays().counted_rows, directory_.arrays().counted_uses); }

  Rows find(const Rows& rows) const {
    const Array<Space, std::int64_t> slots("slots", rows.size());
    directory_.find(exec_, array_of(exec_, rows, "rows"), version_, slots);
    return host(slots);
  }

  /// A step's lookup of these rows: every hit is checked to be the row that it claims.
  void lookup(const Rows& rows, bool ascending = true) {
    const Rows slots = find(rows);
    RowUses step, missed;
    std::map<std::int64_t, bool> stale;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int64_t row = rows[i], slot = slots[i] < row_not_cached ? stale_slot(slots[i]) : slots[i];
      if (slot != row_not_cached) {
        EXPECT_EQ(vectors_[at(slot)], row);
      }
      stale[row] = slot != slots[i];
      if (slots[i] < 0) ++missed[row];
      ++step[row];
    }
    model_.count(step, [&](std::int64_t row) { return stale[row]; });
    directory_.count_found(exec_, array_of(exec_, slots, "slots"));
    Rows distinct, uses;
    for (const auto& [row, row_uses] : missed) distinct.push_back(row), uses.push_back(row_uses);
    if (!ascending) std::reverse(distinct.begin(), distinct.end()), std::reverse(uses.begin(), uses.end());
    directory_.count_missed(exec_, array_of(exec_, distinct, "missed"), array_of(exec_, uses, "uses"), ascending);
  }

  void populate() {
    const RowUses before = model_.cached;
    model_.populate();
    const auto changes = directory_.populate(exec_);
    Rows leaving, entering;
    for (const auto& [row, uses] : before)
      if (!model_.cached.contains(row)) leaving.push_back(row);
    for (const auto& [row, uses] : model_.cached)
      if (!before.contains(row)) entering.push_back(row);
    EXPECT_EQ(host(changes.leaving_rows), leaving);
    EXPECT_EQ(host(changes.entering_rows), entering);
    const Rows left = host(changes.leaving_slots), entered = host(changes.entering_slots);
    for (std::size_t i = 0; i < left.size(); ++i) {
      EXPECT_EQ(vectors_[at(left[i])], leaving[i]);
      vectors_[at(left[i])] = row_not_cached;
    }
    for (std::size_t i = 0; i < entered.size(); ++i) {
      EXPECT_EQ(vectors_[at(entered[i])], row_not_cached);
      vectors_[at(entered[i])] = entering[i];
    }
  }

  /// Every copy is of the cores as they are.
  void refresh(std::int64_t version) {
    version_ = version;
    Rows slots(vectors_.size());
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = static_cast<std::int64_t>(i);
    directory_.set_version(exec_, array_of(exec_, slots, "slots"), version);
  }
  void change_cores() { ++version_; }

  void expect_equal_to_the_rule() const {
    EXPECT_EQ(cached(), model_.cached);
    EXPECT_EQ(counted(), model_.counted);
    const RowCacheCounts counts = directory_.counts(exec_), wanted = model_.counts;
    EXPECT_EQ(counts.hits, wanted.hits);
    EXPECT_EQ(counts.stale, wanted.stale);
    EXPECT_EQ(counts.misses, wanted.misses);
    EXPECT_EQ(counts.drops, wanted.drops);
    EXPECT_EQ(counts.evictions, wanted.evictions);
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
  ModelRowCache model_;
  RowCacheDirectory<Space> directory_;
  Rows vectors_;
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
