// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "datasets/criteo_tsv.hpp"
#include "datasets/id_mapping.hpp"
#include "datasets/sample_source.hpp"

namespace shardmark::datasets {

/// Converts the rows of a block to samples of 26 one-hot features.
void map_block(const CriteoBlock& block, const IdMapping& mapping, Samples& samples);

struct ConvertReport {
  std::int64_t samples = 0;
  std::int64_t text_bytes = 0;  ///< of the TSV, decompressed
  std::int64_t malformed = 0;   ///< lines left out
  bool labelled = true;
  std::string malformed_summary;  ///< as CriteoReader gives it
};

/// Converts a Criteo TSV file to the format of criteo_hdf5.hpp, keys C1..C26. Throws InputError as reader and writer
/// do, and when `in` holds no samples.
ConvertReport convert_criteo(const std::string& in, const std::string& out, const IdMapping& mapping,
                             const CriteoReaderOptions& options, const Progress& progress);

}  // namespace shardmark::datasets
