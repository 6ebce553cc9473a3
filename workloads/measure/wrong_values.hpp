// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "comm/communicator.hpp"
#include "reference/dense/uncertain.hpp"

namespace shardmark {

/// Returns whether a check can tell anything of such a value. It cannot where fp32 may have no number, as in a training
/// that diverges.
inline bool is_told(double expected, double bound) {
  return std::abs(expected) + bound < reference::Uncertain::largest;
}

/// Differs by more than the bound, or is not a number where there is one. A formula may have none: 0 / 0, of an
/// optimizer whose epsilon and sum of squares are 0.
inline bool differs(double actual, double expected, double bound) {
  if (std::isnan(expected) && std::isfinite(bound)) return !std::isnan(actual);
  return is_told(expected, bound) && !(std::abs(actual - expected) <= bound);
}

std::string describe_difference(double actual, double expected, double bound);

/// Values that differ from the reference by more than their bounds.
struct WrongValues {
  std::int64_t count = 0;
  std::string first = {};  ///< which value that is, what it is and what was expected; empty: none is wrong

  void add(std::int64_t number, const std::string& which);
  /// where() says which value it is.
  template <class Where>
  void compare(double actual, double expected, double bound, Where&& where) {
    if (!differs(actual, expected, bound)) return;
    ++count;
    if (first.empty()) first = where() + describe_difference(actual, expected, bound);
  }
  /// Vectors of one length; where(i) says which value number i is.
  template <class Where>
  void compare(std::span<const float> actual, std::span<const float> expected, std::span<const float> bounds,
               Where&& where) {
    for (std::size_t i = 0; i < actual.size(); ++i)
      compare(double{actual[i]}, double{expected[i]}, double{bounds[i]}, [&] { return where(i); });
  }
};

/// Those of all ranks; the first is that of the first rank that has any. Collective.
WrongValues of_all(const Communicator& comm, const WrongValues& own);

}  // namespace shardmark
