// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>

#include "comm/placement/traffic/byte_matrix.hpp"

namespace shardmark::placement {

/// Reads a traffic matrix in the format of nccl-tests' alltoallv (NCCL_TESTS_ALLTOALLV_MATRIX_FILE): a line per rank,
/// in it the bytes for rank 0, 1, ... as numbers separated by blanks, the rank itself included; empty lines are
/// skipped. Fractions are cut off. (nccl-tests rounds each number down to a multiple of 16; we do not.) Throws
/// InputError naming file and line unless all lines have as many numbers, from 0 to 2^53, as there are lines.
ByteMatrix read_traffic(const std::filesystem::path& file);
ByteMatrix read_traffic(std::istream& stream, const std::string& name);

/// Writes the same format, columns aligned.
std::string traffic_text(const ByteMatrix& matrix);

}  // namespace shardmark::placement
