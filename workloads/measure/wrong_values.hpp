// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "comm/communicator.hpp"
#include "reference/dense/uncertain.hpp"

namespace shardmark::workloads {

/// Returns whether the check can test such a value. It cannot where fp32 may have no number, as in a training that
/// diverges.
inline bool is_testable(double expected, double bound) {
  return std::abs(expected) + bound < reference::Uncertain::largest;
}

/// Returns whether a value differs by more than the bound, or is not a number where one is expected. A formula may have
/// none: 0 / 0, of an optimizer whose epsilon and sum of squares are 0.
inline bool differs(double actual, double expected, double bound) {
  if (std::isnan(expected) && std::isfinite(bound)) return !std::isnan(actual);
  return is_testable(expected, bound) && !(std::abs(actual - expected) <= bound);
}

std::string describe_difference(double actual, double expected, double bound);

/// Measures how near values came to their bounds: where none comes near in thousands, the bounds are wider than they
/// need be.
struct Closeness {
  std::int64_t values = 0;  ///< whose bound is above 0
  double closest = 0.0;     ///< the largest |actual - expected| / bound of those that are right

  void see(double actual, double expected, double bound) {
    if (!(bound > 0.0) || !std::isfinite(bound)) return;
    ++values;
    closest = std::max(closest, std::abs(actual - expected) / bound);
  }
  void add(const Closeness& other) {
    values += other.values;
    closest = std::max(closest, other.closest);
  }
};

/// Holds the closeness of outputs, rows, states and so on, by name.
using ClosenessByKind = std::map<std::string, Closeness>;

/// Counts values that differ from the reference by more than their bounds.
struct WrongValues {
  std::int64_t count = 0;
  std::string first = {};  ///< which value that is, what it is and what was expected; empty: none is wrong
  ClosenessByKind closeness = {};

  void add(std::int64_t number, const std::string& which);
  /// Compares one value. kind: one of `closeness`. where() names the value.
  template <class Where>
  void compare(Closeness& kind, double actual, double expected, double bound, Where&& where) {
    if (!differs(actual, expected, bound)) return kind.see(actual, expected, bound);
    ++count;
    if (first.empty()) first = where() + describe_difference(actual, expected, bound);
  }
  /// Compares vectors of one length; where(i) names value number i.
  template <class Where>
  void compare(Closeness& kind, std::span<const float> actual, std::span<const float> expected,
               std::span<const float> bounds, Where&& where) {
    for (std::size_t i = 0; i < actual.size(); ++i)
      compare(kind, double{actual[i]}, double{expected[i]}, double{bounds[i]}, [&] { return where(i); });
  }
};

/// Returns the wrong values of all ranks; the first is that of the first rank that has any, `closeness` that of this
/// rank. Collective.
WrongValues of_all(const comm::Communicator& comm, const WrongValues& own);

}  // namespace shardmark::workloads
