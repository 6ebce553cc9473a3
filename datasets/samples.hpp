// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "reference/batch.hpp"

namespace shardmark::datasets {

/// Training data of batch.samples samples.
struct Samples {
  Batch batch;
  std::vector<float> dense;   ///< [samples, dense features], raw values; a missing one is 0
  std::vector<float> labels;  ///< [samples], 0 or 1
};

}  // namespace shardmark::datasets
