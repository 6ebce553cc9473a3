// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <memory>
#include <random>
#include <vector>

#include "comm/placement/cost/step_cost.hpp"
#include "comm/placement/search/table_options.hpp"

namespace shardmark::placement {

/// Tables and features with what a search needs to know of them.
struct SearchWorkload {
  std::vector<Table> tables;
  std::vector<Feature> features;
  std::unique_ptr<LookupStatistics> statistics;

  /// Tables of 4 to 2^17 rows and 4 to 64 columns, some alike, read by none to two features of 1 to 20 ids.
  static SearchWorkload random(std::mt19937_64& random, int count, double alpha) {
    const auto draw = [&](int low, int high) {
      return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    };
    SearchWorkload workload;
    for (int t = 0; t < count; ++t) {
      const bool again = t > 0 && draw(0, 3) == 0;
      Table table = again ? workload.tables.back()
                          : Table{.name = {},
                                  .rows = std::int64_t{1} << draw(2, 17),
                                  .dim = 4 * draw(1, 16),
                                  .optimizer = {.kind = optimizers[draw(0, 4)].value}};
      table.name = fmt::format("T{}", t);
      workload.tables.push_back(table);
      for (int f = draw(0, 5) == 0 ? 0 : draw(1, 2); f > 0; --f)
        workload.features.push_back({fmt::format("F{}", workload.features.size()), t,
                                     draw(0, 3) == 0 ? Pooling::mean : Pooling::sum, draw(1, 20)});
    }
    workload.expect({.alpha = alpha});
    return workload;
  }

  /// So many equal tables of one feature each.
  static SearchWorkload alike(int count) {
    SearchWorkload workload;
    for (int t = 0; t < count; ++t) {
      workload.tables.push_back({.name = fmt::format("T{}", t), .rows = 100'000, .dim = 32});
      workload.features.push_back({fmt::format("F{}", t), t, Pooling::sum, 4});
    }
    workload.expect({});
    return workload;
  }

  void expect(const IdStatistics& ids) { statistics = std::make_unique<LookupStatistics>(tables, features, ids); }

  StepContext step(int ranks, int ranks_per_node = 0) const {
    return {.statistics = *statistics,
            .ranks = ranks,
            .ranks_per_node = ranks_per_node > 0 ? ranks_per_node : ranks,
            .global_batch = 32768};
  }

  Plan plan(int ranks, std::vector<TablePlacement> placements) const {
    return {.name = "search", .ranks = ranks, .tables = std::move(placements)};
  }
};

inline const std::vector<std::string_view> all_families{"data_parallel",  "table_wise",     "column_wise", "row_wise",
                                                        "row_wise_block", "table_row_wise", "grid",        "hot_rows"};

}  // namespace shardmark::placement
