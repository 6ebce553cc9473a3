// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/criteo_hdf5.hpp"
#include "datasets/criteo_tsv.hpp"

namespace shardmark::datasets {

struct ColumnStatistics {
  std::string name;
  std::int64_t values = 0;    ///< present ones
  std::int64_t missing = -1;  ///< -1: not known
  std::int64_t unique = -1;   ///< -1: not counted (dense columns)
  double minimum = 0.0;       ///< of the values; of an empty column 0
  double maximum = 0.0;
};

struct DataStatistics {
  std::int64_t samples = 0;
  std::int64_t positives = 0;
  std::vector<ColumnStatistics> columns;  ///< dense ones first
};

/// Reads all of `reader`. Counting unique values takes about 30 B for each.
DataStatistics inspect(CriteoReader& reader, const Progress& progress);

/// Reads all of `reader`, ids as stored.
DataStatistics inspect(SampleFileReader& reader, const Progress& progress);

}  // namespace shardmark::datasets
