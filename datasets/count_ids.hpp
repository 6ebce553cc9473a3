// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "datasets/sample_source.hpp"
#include "datasets/value_table.hpp"

namespace shardmark::datasets {

/// How often each id of a feature occurs.
struct FeatureCounts {
  ValueTable ids;                             ///< id -> how many times
  std::map<std::int64_t, std::int64_t> bags;  ///< number of ids -> how many bags have so many
};

struct IdCounts {
  std::int64_t samples = 0;             ///< that were read
  bool whole = true;                    ///< they are all of the file
  std::vector<FeatureCounts> features;  ///< as the file has them
};

/// Reads the first options.limit samples of a file, without keeping them: 24 to 48 B per different id. What
/// open_samples refuses is refused. The rule frequency reads the whole file once before.
IdCounts count_ids(const std::string& path, const SourceOptions& options, const Notice& notice,
                   const Progress& progress);

}  // namespace shardmark::datasets
