// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/table/cases.hpp"

namespace shardmark::results {

/// Says what a column is for, the most important first: a kind is shown where those before it leave room.
/// `exchange_sum` stands for `exchange_phases` where there is no room for these.
enum class Importance {
  choice,           ///< what the case is, and its time
  ratio,            ///< vs best
  verdict,          ///< wrong, stopped
  interval,         ///< of the time
  rate,             ///< samples/s
  prediction,       ///< predicted, and how far off
  limit,            ///< share of the least time that the machine allows
  phase,            ///< ms of lookup and update
  exchange_sum,     ///< ms of all exchanges
  memory,           ///< of the tables, where their storages differ
  traffic,          ///< bytes sent
  limit_time,       ///< ms of that least time
  error,            ///< of narrow wires; loss and AUC of dense models
  saving,           ///< of dedup
  balance,          ///< of the lookup over the ranks
  exchange_phases,  ///< ms of each exchange
  overlap,          ///< communication, and what of it is exposed
  remark            ///< what auto picked, phases of less than a hundredth of each step
};

struct Column {
  std::string header;
  Importance importance = Importance::choice;
  bool left_aligned = false;
  std::string_view unit = {};           ///< printed above the table where the header alone would not do
  std::string legend = {};              ///< what it means; empty where the header says it
  std::vector<std::string> cells = {};  ///< one for each record
};

/// Holds the cells of a table of cases, and what all cases have in common.
struct Sheet {
  std::vector<std::string> constants;  ///< "ranks 2"
  std::vector<Column> columns;  ///< those of a case alone, when there is one; the plan's or leading field's first
};

/// Makes the sheet of at least one record, in the order in which they shall stand; `best` is the best valid one, or
/// null.
Sheet sheet_of(const Records& records, const CaseRecord* best);

}  // namespace shardmark::results
