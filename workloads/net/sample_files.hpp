// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardmark::workloads {

/// Rows of table `column` for which the ids of the converted file were made.
constexpr std::int64_t rows_of_sample_file(std::int64_t column) { return 1 + 7 * column; }

/// Files of a few hundred Criteo samples in each format that is read, in the folder; they are made where they are
/// missing.
std::vector<std::string> sample_files(const std::string& folder);

}  // namespace shardmark::workloads
