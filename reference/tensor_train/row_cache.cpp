// SPDX-License-Identifier: Apache-2.0
#include "reference/tensor_train/row_cache.hpp"

namespace shardmark::reference {

CachedRows::CachedRows(const RowCache& cache)
    : writes_(cache.writes), shape_(row_cache_shape(cache)), sets_(static_cast<std::size_t>(shape_.sets)) {}

bool CachedRows::contains(std::int64_t row) const {
  return !sets_.empty() && sets_[shape_.set_of(row)].cached.contains(row);
}

std::int64_t CachedRows::uses(std::int64_t row) const {
  const Set& set = sets_[shape_.set_of(row)];
  if (const auto cached = set.cached.find(row); cached != set.cached.end()) return cached->second.uses;
  const auto counted = set.counted.find(row);
  return counted == set.counted.end() ? 0 : counted->second;
}

void CachedRows::count(std::int64_t row, std::int64_t uses) {
  Set& set = sets_[shape_.set_of(row)];
  if (const auto cached = set.cached.find(row); cached != set.cached.end()) {
    auto& [counted, version] = cached->second;
    (writes_ == CacheWrites::trained || version == version_ ? counts_.hits : counts_.stale) += uses;
    counted += uses;
    version = version_;
    return;
  }
  counts_.misses += uses;
  if (set.counted.contains(row) || std::ssize(set.counted) < shape_.count_slots)
    set.counted[row] += uses;
  else
    counts_.drops += uses;
}

CachedRows::Populated CachedRows::populate() {
  Populated populated;
  for (Set& set : sets_) populate(set, populated);
  counts_.evictions += std::ssize(populated.left);
  return populated;
}

void CachedRows::populate(Set& set, Populated& populated) {
  struct Candidate {
    std::int64_t row, uses;
  };
  std::vector<Candidate> candidates;
  for (const auto& [row, cached] : set.cached) candidates.push_back({row, cached.uses});
  for (const auto& [row, uses] : set.counted) candidates.push_back({row, uses});
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return a.uses != b.uses ? a.uses > b.uses : a.row < b.row;
  });
  for (std::int64_t place = 0; place < std::ssize(candidates); ++place) {
    const auto [row, uses] = candidates[place];
    const bool stays = place < shape_.ways, was_cached = set.cached.contains(row);
    if (stays && !was_cached) {
      set.cached[row] = {uses, version_};
      set.counted.erase(row);
      populated.entered.push_back(row);
    }
    if (!stays && was_cached) {
      set.cached.erase(row);
      populated.left.push_back(row);
    }
  }
  for (auto& [row, cached] : set.cached) cached.uses /= 2;
  for (auto& [row, uses] : set.counted) uses /= 2;
  std::erase_if(set.counted, [](const auto& counted) { return counted.second == 0; });
}

}  // namespace shardmark::reference
