// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "reference/dense/dense_spec.hpp"

namespace shardmark::kernels::bench {

inline constexpr std::int64_t dense_batch = 2048;

struct DenseCase {
  std::string_view name;
  DenseSpec spec;
};

/// facebookresearch/dlrm on Criteo Kaggle; the DLRM and the DLRM-DCNv2 of MLPerf.
const std::vector<DenseCase>& dense_cases();

}  // namespace shardmark::kernels::bench
