// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "datasets/criteo_hdf5.hpp"
#include "datasets/criteo_tsv.hpp"
#include "datasets/sample_source.hpp"
#include "datasets/value_table.hpp"

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

/// Counts how often each id of a feature occurs.
struct FeatureCounts {
  ValueTable ids;                             ///< id -> how many times
  std::map<std::int64_t, std::int64_t> bags;  ///< number of ids -> how many bags have so many
};

struct IdCounts {
  std::int64_t samples = 0;             ///< that were read
  bool whole = true;                    ///< they are all of the file
  std::vector<FeatureCounts> features;  ///< as the file has them
};

/// Counts the ids of the first options.limit samples of a file, without keeping the samples: 24 to 48 B per different
/// id. It refuses what open_samples refuses. The rule frequency reads the whole file once before.
IdCounts count_ids(const std::string& path, const SourceOptions& options, const Notice& notice,
                   const Progress& progress);

}  // namespace shardmark::datasets
