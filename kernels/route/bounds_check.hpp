// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "reference/named.hpp"

namespace shardmark::kernels {

/// Selects what happens to ids outside their table and weights that are not finite. Offsets that are no CSR always
/// throw, since it is unknown which bags they mean.
enum class BoundsCheck { on, warn, fold, off };

inline constexpr std::array bounds_checks{
    Choice<BoundsCheck>{"on", "the first bad id, weight or offset is an error", BoundsCheck::on},
    Choice<BoundsCheck>{"warn", "bad ids become row 0, or min_key; bad ids and weights are counted", BoundsCheck::warn},
    Choice<BoundsCheck>{"fold", "the same, but bad ids are folded into their table, modulo its rows, or keys",
                        BoundsCheck::fold},
    Choice<BoundsCheck>{"off", "nothing is looked at", BoundsCheck::off},
};
constexpr auto choices_of(BoundsCheck) { return Choices{"bounds check", bounds_checks}; }

/// Counts what a pass with BoundsCheck::warn or fold let through.
struct BagWarnings {
  std::int64_t ids = 0;      ///< replaced by ids of their table
  std::int64_t weights = 0;  ///< not finite, left as they are
  std::string first;         ///< the first of them, in words; empty when there is none
};

}  // namespace shardmark::kernels
