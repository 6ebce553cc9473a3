// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "datasets/checkpoint/manifest.hpp"

namespace shardmark::datasets {

/// Writes the checkpoint that a name leads to, which has changes, and those that it builds on as one with all rows, of
/// the same step, into a folder of its own in `to`. Returns that folder. What is read keeps to its checksums; in memory
/// is a block of each checkpoint, and 24 bytes for each number of a row that changed, and for each key. Throws
/// InputError where something is missing or damaged, or `to` holds a checkpoint of that step.
std::string merge_checkpoints(const std::string& from, const std::string& to);

}  // namespace shardmark::datasets
