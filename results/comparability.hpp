// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/launch.hpp"

namespace shardmark::results {

/// Reports a condition in which launches differ whose times are to be compared.
struct Disagreement {
  /// This is a key of Launch::context, "revision" (launches of one side are of one commit), or an option of cases with
  /// one name.
  std::string key;
  std::string text;  ///< one line: both values and both files
};

/// Returns what differs between the first launch of OLD and any other of OLD, NEW and A/A: at most one line per key and
/// side, and per option one in all. Keys that one of two files lacks are not compared; commits are compared within a
/// side only.
std::vector<Disagreement> disagreements(std::span<const Launch> old_launches, std::span<const Launch> new_launches,
                                        std::span<const Launch> aa_launches);

}  // namespace shardmark::results
