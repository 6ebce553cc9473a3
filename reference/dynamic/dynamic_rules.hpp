// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/dynamic/admission.hpp"
#include "reference/dynamic/eviction.hpp"

namespace shardmark::reference {

/// Selects what a key reads that has no row, because it was not admitted, was evicted, or is new in an evaluation.
enum class AbsentRows { zero, initial };

inline constexpr std::array absent_rows{
    Choice<AbsentRows>{"zero", "zeros", AbsentRows::zero},
    Choice<AbsentRows>{"initial", "the values that its row would begin with", AbsentRows::initial},
};
constexpr auto choices_of(AbsentRows) { return Choices{"absent rows", absent_rows}; }

/// Says how the rows of a table come and go.
struct DynamicRules {
  Admission admission;
  Eviction eviction;
  AbsentRows absent = AbsentRows::zero;

  /// Returns whether every key of a step has a row that lasts.
  constexpr bool keeps_all() const {
    return admission.kind == AdmissionKind::all && eviction.kind == EvictionKind::none;
  }
  bool operator==(const DynamicRules&) const = default;
};

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::AbsentRows, reference::DynamicRules;
}  // namespace shardmark
