// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace shardmark::reference {

/// Sorts the values ascending and removes repeated ones.
template <class T>
void sort_distinct(std::vector<T>& values) {
  std::ranges::sort(values);
  const auto repeated = std::ranges::unique(values);
  values.erase(repeated.begin(), repeated.end());
}

/// Does the same to values that are ascending between each two neighbours of `ends`, which begin with 0 and end with
/// their number: n log2(ends) steps.
template <class T>
void merge_distinct(std::vector<T>& values, std::vector<std::int64_t> ends) {
  while (ends.size() > 2) {
    std::vector<std::int64_t> merged{0};
    for (std::size_t run = 0; run + 1 < ends.size(); run += 2) {
      const std::int64_t end = ends[std::min(run + 2, ends.size() - 1)];
      std::inplace_merge(values.begin() + ends[run], values.begin() + ends[run + 1], values.begin() + end);
      merged.push_back(end);
    }
    ends = std::move(merged);
  }
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::merge_distinct, reference::sort_distinct;
}  // namespace shardmark
