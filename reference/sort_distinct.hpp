// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

namespace shardmark::reference {

/// The different values, ascending.
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
