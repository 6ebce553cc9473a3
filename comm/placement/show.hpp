// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "comm/placement/plan.hpp"

namespace shardmark {

/// Ids per sample of the global batch that each rank looks up, when ids are uniform: a row shard gets its share of
/// the feature's hotness, a column shard all of it, a data_parallel table the samples of its rank.
std::vector<double> ids_per_sample(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features);

/// A page of text: what each rank holds with the imbalance (max / mean), where each table lives, and the five tables
/// that take most of the fullest rank. MB are 10^6 bytes. The plan must be sound (check.hpp).
std::string show(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features);

}  // namespace shardmark
