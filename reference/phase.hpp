// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "reference/named.hpp"

namespace shardmark::reference {

/// Names the phases of a training step, in the order in which the data pass them.
enum class Phase : std::size_t { input_dist, lookup, output_dist, dense, grad_dist, update };

inline constexpr std::array<std::string_view, 6> phase_names{"input_dist", "lookup",    "output_dist",
                                                             "dense",      "grad_dist", "update"};
inline constexpr std::size_t phase_count = phase_names.size();

constexpr std::string_view name_of(Phase phase) { return phase_names[index_of(phase)]; }

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::Phase, reference::phase_count, reference::phase_names;
}  // namespace shardmark
