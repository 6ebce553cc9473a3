// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace shardmark::workloads {

/// Draws numbers, the same on every machine for a given number.
class Draw {
 public:
  explicit Draw(std::uint64_t number) : random_(number * 0x9E3779B97F4A7C15u + 1) {}

  /// Returns a whole number of low to high, both included.
  std::int64_t whole(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  /// Returns the same, each power of two as likely as another.
  std::int64_t log_whole(std::int64_t low, std::int64_t high) {
    const double width = std::log2(static_cast<double>(high - low + 1));
    return low + static_cast<std::int64_t>(std::exp2(width * unit())) - 1;
  }
  /// Returns a number of [0, 1).
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }
  template <class List>
  const auto& of(const List& list) {
    return *(std::begin(list) + whole(0, static_cast<std::int64_t>(std::size(list)) - 1));
  }
  template <class T>
  T of(std::initializer_list<T> list) {
    return *(list.begin() + whole(0, static_cast<std::int64_t>(list.size()) - 1));
  }
  std::mt19937_64& random() { return random_; }

 private:
  std::mt19937_64 random_;
};

}  // namespace shardmark::workloads
