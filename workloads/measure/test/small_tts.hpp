// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/support.hpp"
#include "reference/error.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"

namespace shardmark::workloads {

/// Makes a table of the case a tensor train of these factors and ranks.
inline void make_tt(Table& table, std::vector<std::int64_t> rows, std::vector<std::int64_t> columns,
                    std::vector<std::int64_t> ranks, ContractionDirection direction) {
  table.storage = Storage::tt;
  table.tensor_train.cores = std::ssize(rows);
  table.tensor_train.row_shape = std::move(rows);
  table.tensor_train.dim_shape = std::move(columns);
  table.tensor_train.ranks = std::move(ranks);
  table.tensor_train.direction = direction;
}

/// small_case() with tt tables of two, three and four cores among its tables, of three dims, padded and not, contracted
/// from either end; tables 0 and 3 stay dense.
inline RunOptions small_tts(Pooling pooling, OptimizerKind optimizer, bool exact, ValueType type = ValueType::fp32) {
  RunOptions options = small_case(pooling, optimizer, exact, type);
  std::vector<Table>& tables = options.workload.tables;
  make_tt(tables[1], {7, 8}, {4, 4}, {3}, ContractionDirection::automatic);
  make_tt(tables[2], {10, 10, 11}, {2, 2, 2}, {2, 4}, ContractionDirection::suffix);
  make_tt(tables[4], {4, 5, 3, 4}, {2, 1, 3, 2}, {2, 3, 2}, ContractionDirection::prefix);
  return options;
}

/// The first table, with a dim of its own, and features of any hotness, as one tt table of many rows.
inline RunOptions one_tt(Pooling pooling, OptimizerKind optimizer) {
  RunOptions options = small_case(pooling, optimizer, false);
  options.workload.tables = {{.name = "t", .rows = 900, .dim = 8}};
  options.workload.tables[0].optimizer = {.kind = optimizer, .learning_rate = 0.125F, .initial_accumulator = 0.5F};
  make_tt(options.workload.tables[0], {9, 10, 10}, {2, 2, 2}, {3, 4}, ContractionDirection::automatic);
  options.workload.features = {{.name = "f", .table = 0, .pooling = pooling, .hotness = 6},
                               {.name = "g", .table = 0, .pooling = pooling, .hotness = 2}};
  return options;
}

/// The planners whose plans keep tensor trains whole.
inline constexpr std::array<std::string_view, 2> tt_planners{"table_wise", "data_parallel"};

}  // namespace shardmark::workloads
