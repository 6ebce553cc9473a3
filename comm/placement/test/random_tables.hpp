// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <random>
#include <vector>

#include "reference/table.hpp"

namespace shardmark::placement {

/// 1 to 8 tables of 1 to 40 rows and 1 to 12 columns, with any optimizer, and one to two features per table.
struct RandomTables {
  std::vector<Table> tables;
  std::vector<Feature> features;

  explicit RandomTables(std::mt19937& random) {
    const auto draw = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
    const int count = draw(1, 8);
    for (int t = 0; t < count; ++t) {
      const auto kind = optimizers[draw(0, 2)].value;
      tables.push_back({fmt::format("T{}", t), draw(1, 40), draw(1, 12), {.kind = kind}});
      for (int f = draw(1, 2); f > 0; --f)
        features.push_back({fmt::format("F{}", features.size()), t, Pooling::sum, draw(1, 5)});
    }
  }
};

}  // namespace shardmark::placement
