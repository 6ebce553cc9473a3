// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "workloads/batches/step_input.hpp"
#include "workloads/checkpoint/saved_layout.hpp"

namespace shardmark::workloads {

/// Remembers which rows steps have named, a bit each: those that may have changed since. A step changes no other row.
/// Tables whose rows come and go have the step that used a row last beside it, and take no bits.
class TouchedRows {
 public:
  TouchedRows(const std::vector<Table>& tables, const std::vector<Feature>& features);

  /// Adds the rows that this rank's samples name.
  void add(const StepInput& input);
  /// Forgets all.
  void clear();

  /// Returns, by array of a layout, the rows that the samples of all ranks have named, ascending; of computed tables
  /// those of their parts, of tables that are not trained none, of layers all, of numbered arrays nothing. Collective.
  std::vector<std::optional<std::vector<std::int64_t>>> rows(const comm::Communicator& comm,
                                                             const SavedLayout& layout) const;

 private:
  const std::vector<Table>& tables_;
  const std::vector<Feature>& features_;
  std::vector<std::int64_t> first_;         ///< [tables + 1] number of the first word of a table
  std::vector<std::int64_t> touched_ = {};  ///< words of 64 rows
};

}  // namespace shardmark::workloads
