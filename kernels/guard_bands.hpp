// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

namespace shardmark::kernels {

/// Tests may ask for guard bands before and behind arrays, which nothing may write: a page of a pattern that is no
/// number in any value type and no id of any table.
inline constexpr std::size_t guard_bytes = 4096;
inline std::atomic<bool> guard_bands{false};  ///< whether arrays that are made from now on have them

/// Returns the number of elements of a band; 0 where there are none.
template <class T>
std::size_t guard_elements() {
  return guard_bands ? (guard_bytes + sizeof(T) - 1) / sizeof(T) : 0;
}

/// Fills `bytes` of host memory with the pattern and watches them as long as the handle lives. where: "behind
/// shardmark::ids".
std::shared_ptr<const void> guard_band(void* begin, std::size_t bytes, std::string where);

/// Throws std::runtime_error that names the bands that have been written since the last call, those of arrays that are
/// gone included. Restores them.
void check_guard_bands();

}  // namespace shardmark::kernels
