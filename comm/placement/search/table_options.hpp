// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/statistics/lookup_statistics.hpp"
#include "comm/placement/traffic/movement.hpp"

namespace shardmark::placement {

/// Holds a table that is to be placed, and the ranks that there are.
struct TableToPlace {
  const LookupStatistics& statistics;
  std::int64_t number = 0;
  int ranks = 1;
  int node_size = 1;

  const Table& table() const { return statistics.tables()[number]; }
};

/// A TableOption is a way to place a table without saying on which ranks: its shards have the ranks 0 .. seats - 1,
/// which stand for as many different ranks; shards of one seat stay together. Replicated tables have no seats.
struct TableOption {
  TablePlacement placement;
  int together = 0;       ///< so many seats after each other, the last perhaps fewer, are on one node; 0: any ranks
  bool in_order = false;  ///< seat k on the k-th rank, of all or of the node

  /// Returns whether a seat may move to another rank, whatever ranks the others are on.
  bool movable() const { return together == 0 && !in_order; }
  int seats() const;
  /// Returns the placement with seat s on rank ranks[s].
  TablePlacement at(std::span<const int> ranks) const;

  bool operator==(const TableOption&) const = default;
};

/// An OptionFamily proposes the options of one kind. It leaves out those that the table has not enough rows, columns or
/// ranks for.
struct OptionFamily {
  std::string_view name;
  std::string_view description;
  void (*propose)(const TableToPlace&, std::vector<TableOption>&);
};

void propose_data_parallel(const TableToPlace& place, std::vector<TableOption>& options);
void propose_table_wise(const TableToPlace& place, std::vector<TableOption>& options);
void propose_column_wise(const TableToPlace& place, std::vector<TableOption>& options);
void propose_row_wise(const TableToPlace& place, std::vector<TableOption>& options);
void propose_row_wise_block(const TableToPlace& place, std::vector<TableOption>& options);
void propose_table_row_wise(const TableToPlace& place, std::vector<TableOption>& options);
void propose_grid(const TableToPlace& place, std::vector<TableOption>& options);
void propose_hot_rows(const TableToPlace& place, std::vector<TableOption>& options);
void propose_column_wise_fours(const TableToPlace& place, std::vector<TableOption>& options);
void propose_row_wise_in_order(const TableToPlace& place, std::vector<TableOption>& options);
void propose_table_row_wise_in_order(const TableToPlace& place, std::vector<TableOption>& options);
void propose_tensor_train(const TableToPlace& place, std::vector<TableOption>& options);

/// Lists the families. "Parts" are 2, 4, 8, ... and as many as there are ranks.
inline constexpr std::array option_families{
    OptionFamily{"data_parallel", "on every rank", propose_data_parallel},
    OptionFamily{"table_wise", "whole, on one rank", propose_table_wise},
    OptionFamily{"column_wise", "parts of its columns, at least 4 of them each", propose_column_wise},
    OptionFamily{"row_wise", "parts of its rows, modulo", propose_row_wise},
    OptionFamily{"row_wise_block", "parts of its rows, in blocks", propose_row_wise_block},
    OptionFamily{"table_row_wise", "its rows modulo 2, 4, ... ranks of one node, or those of 1, 2, 4, ... nodes",
                 propose_table_row_wise},
    OptionFamily{"grid", "parts of its columns, each in parts of its rows modulo, or modulo the ranks of a node",
                 propose_grid},
    OptionFamily{"hot_rows",
                 "first rows of a quarter, half, 3/4 or 9/10 of the ids everywhere, others as one of "
                 "table_wise, row_wise, table_row_wise",
                 propose_hot_rows},
    OptionFamily{"column_wise_fours", "parts of its columns, multiples of 4 (for torchrec-plan)",
                 propose_column_wise_fours},
    OptionFamily{"row_wise_in_order", "blocks of its rows on all ranks in order (for torchrec-plan)",
                 propose_row_wise_in_order},
    OptionFamily{"table_row_wise_in_order", "blocks of its rows on the ranks of a node in order (for torchrec-plan)",
                 propose_table_row_wise_in_order},
    OptionFamily{"tt", "as a tensor train, whole or on every rank (another model: only when asked for)",
                 propose_tensor_train},
};

/// Returns each option once that the families propose for the table and that a step can do (support.hpp). Throws
/// InputError where the step can do none of them, for the reason of the first.
std::vector<TableOption> table_options(const TableToPlace& place, const Movement& movement,
                                       std::span<const std::string_view> families);

/// Holds the option that a placement is, and the ranks of its seats.
struct SeatedOption {
  TableOption option;
  std::vector<int> ranks;
};
SeatedOption seated(const TablePlacement& placement);

}  // namespace shardmark::placement
