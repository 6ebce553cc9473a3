// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "comm/messages.hpp"
#include "datasets/checkpoint/parts.hpp"
#include "workloads/checkpoint/saved_layout.hpp"
#include "workloads/step/dense/dense_model.hpp"
#include "workloads/tables/sharded_tables.hpp"

namespace shardmark::workloads {

/// Reads and writes rows of arrays where this rank holds them: in the stores of its tables and its dense model.
class HeldRows {
 public:
  /// vectors: of state of the dense model.
  HeldRows(ShardedTables& tables, DenseModel& dense, std::int64_t vectors);

  /// Return and set the local rows [first, first + count) of cells that this rank holds.
  StoredRows read(const ArrayLayout& layout, const HeldCells& cells, std::int64_t first, std::int64_t count) const;
  void write(const ArrayLayout& layout, const HeldCells& cells, std::int64_t first, const StoredRows& rows);
  /// Do the same for some local rows of a table, ascending. Rows of layers are never listed with gaps.
  StoredRows read_listed(const ArrayLayout& layout, const HeldCells& cells,
                         const std::vector<std::int64_t>& local_rows) const;
  void write_listed(const ArrayLayout& layout, const HeldCells& cells, const std::vector<std::int64_t>& local_rows,
                    const StoredRows& rows);
  /// Do the same by keys, where rows come and go. A store that cannot take them is asked no more, and require_room()
  /// throws what it says.
  StoredRows read_keys(const ArrayLayout& layout, const HeldCells& cells, const std::vector<std::int64_t>& keys) const;
  void write_keys(const ArrayLayout& layout, const HeldCells& cells, const std::vector<std::int64_t>& keys,
                  const StoredRows& rows);
  void require_room() const;
  /// Gives the dense model the weights that were written, as they are after so many steps.
  void complete(std::int64_t steps);

 private:
  ShardedTables& tables_;
  DenseModel& dense_;
  StoredRows weights_;  ///< all of the dense model, where there is one
  std::string no_room_;
};

/// Names the rows of a rank's part of a round: a range of an array, and where this does not have all rows their
/// numbers.
struct RoundRows {
  datasets::SavedRange range;
  std::span<const std::int64_t> listed = {};
};

/// Carries rows between the ranks that hold them and those that have them in the order of blocks. Each round, every
/// rank has one range, or none; all ranks name those of all. Messages have a known size, and their bytes are counted.
class BlockExchange {
 public:
  BlockExchange(const comm::Communicator& comm, const SavedLayout& layout)
      : comm_(comm), layout_(layout), messages_(comm) {}

  /// Returns the rows of this rank's range, until the next call. ranges: by rank; of count 0: none. Collective.
  const datasets::SavedRows& collect(const std::vector<RoundRows>& ranges, const HeldRows& held);
  /// Takes the rows of this rank's range to all who hold any. Collective.
  void spread(const std::vector<RoundRows>& ranges, const datasets::SavedRows& rows, HeldRows& held);

  /// Returns the bytes that this rank has sent to others.
  std::int64_t sent() const;

 private:
  const comm::Communicator& comm_;
  const SavedLayout& layout_;
  comm::Messages messages_;
  // These are used again each round: pages of new memory cost more than the copies into them.
  std::vector<datasets::Bytes> sent_, received_;  ///< a message with each rank
  datasets::SavedRows rows_;
};

}  // namespace shardmark::workloads
