// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardmark::datasets {

/// A Matrix holds [rows][columns] values.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values;
};

/// Reads a file of numpy.save: a matrix of little-endian float32 or float64 by rows (format 1 to 3 of
/// numpy.lib.format). Throws InputError that names the file.
Matrix read_npy(const std::string& path);

}  // namespace shardmark::datasets
