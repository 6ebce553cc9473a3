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
inline const std::vector<DenseCase>& dense_cases() {
  static const std::vector<DenseCase> all{
      {"dlrm-kaggle",
       {.kind = DenseKind::dlrm,
        .widths = std::vector<std::int64_t>(26, 16),
        .numerical_features = 13,
        .bottom_mlp = {512, 256, 64, 16},
        .top_mlp = {512, 256, 1}}},
      {"dlrm-mlperf",
       {.kind = DenseKind::dlrm,
        .widths = std::vector<std::int64_t>(26, 128),
        .numerical_features = 13,
        .bottom_mlp = {512, 256, 128},
        .top_mlp = {1024, 1024, 512, 256, 1}}},
      {"dcnv2-mlperf",
       {.kind = DenseKind::dcnv2,
        .widths = std::vector<std::int64_t>(26, 128),
        .numerical_features = 13,
        .bottom_mlp = {512, 256, 128},
        .top_mlp = {1024, 1024, 512, 256, 1},
        .cross_layers = 3,
        .cross_rank = 512}},
  };
  return all;
}

}  // namespace shardmark::kernels::bench
