// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

namespace shardmark::reference {

/// Sorts the values ascending and removes repeated ones.
template <class T>
void sort_distinct(std::vector<T>& values) {
  std::ranges::sort(values);
  const auto repeated = std::ranges::unique(values);
  values.erase(repeated.begin(), repeated.end());
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::sort_distinct;
}  // namespace shardmark
