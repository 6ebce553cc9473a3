// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>

#include "kernels/prefetch.hpp"
#include "kernels/sort/unique_rows.hpp"
#include "reference/error.hpp"
#include "reference/work.hpp"

namespace shardmark::kernels {

/// Lays out the radix sort of n keys below one bound with positions below another: a word holds the key bits above the
/// position bits, and is sorted in radix_passes passes by digits that are equally wide.
struct RadixPlan {
  int key_bits = 1;
  int position_bits = 0;
  int passes = 1;
  int digit_bits = 1;

  RadixPlan(std::int64_t n, std::int64_t position_bound, std::int64_t key_bound) {
    key_bits = std::max(1, bits_below(key_bound));
    position_bits = bits_below(position_bound);
    if (key_bits + position_bits > 64 || n > std::numeric_limits<std::uint32_t>::max())
      throw InputError("unique rows: " + std::to_string(n) + " ids with positions below " +
                       std::to_string(position_bound) + " into " + std::to_string(key_bound) +
                       " rows of one rank need more than 64 bits per id or 32 to count them; use a smaller batch or "
                       "more ranks");
    passes = radix_passes(key_bound);
    digit_bits = radix_digit_bits(key_bound);
  }
};

/// Returns words of a key above its position, which is `positions`, or 0, 1, .. where that is empty.
template <class Exec>
struct KeyWords {
  ConstArray<Exec, std::int64_t> keys, positions;
  int position_bits;

  KOKKOS_FUNCTION std::uint64_t operator()(std::int64_t i) const {
    return key_word(keys(i), positions.extent(0) > 0 ? positions(i) : i, position_bits);
  }
};

}  // namespace shardmark::kernels
