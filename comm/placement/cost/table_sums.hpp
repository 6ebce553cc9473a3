// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/cost/buffers.hpp"
#include "comm/placement/cost/far_rows.hpp"
#include "comm/placement/cost/row_transfer_choice.hpp"

namespace shardmark::placement {

/// Counts what is looked up in some rows.
struct LookedUp {
  ShardCounts own;  ///< by the samples of one rank
  ShardCounts all;  ///< by those of all ranks
  FarRows far;
};

/// Holds the sums of one table under one placement as they grow, and what all kinds of placements and transfers add to
/// them.
class TableSums {
 public:
  static constexpr double values_of_line = 16;  ///< of 64 bytes

  /// All arguments must outlive the object.
  TableSums(const StepContext& step, const MachineModel& machine, std::int64_t t, const TablePlacement& placement);

  const StepContext& step;
  const MachineModel& machine;
  const std::int64_t number;
  Table table;  ///< with the storage that the placement gives it
  const TablePlacement& placement;
  const Packing packing;
  double features = 0.0;  ///< that read it
  double own_ids = 0.0;   ///< of a rank's samples
  Pools pools;
  double divided = 0.0;  ///< share of the features whose vectors are divided, as their bags have several ids or weights

  static void add(RankWork& to, Term term, double count) { at(to.counts, term) += count; }
  /// Adds bytes of arrays of a step (buffers.hpp).
  static void add_buffer(RankWork& to, double bytes) { to.memory += room_to_grow * bytes; }
  double ranks() const { return step.ranks; }
  LookedUp looked_up(const RowSet& rows, double share) const;

  /// Adds `distinct` rows that are read from memory, or computed from those of parts.
  void read_rows(RankWork& to, const LookedUp& looked, double distinct, std::int64_t columns) const;
  /// Returns the values that an optimizer changes where it updates that many rows, or those of the parts that they are
  /// computed from.
  double updated_values(double distinct, std::int64_t columns) const;
  /// Counts the gradients of a rank that an update adds up: of so many positions in bags, some of them without any, of
  /// `rows` rows of a shard, which name that many vectors.
  struct Gradients {
    double positions = 0.0, bags = 0.0, vectors = 0.0;
    std::int64_t rows = 0, columns = 0;
  };
  /// Adds the update of all distinct rows, with the sums of their gradients.
  void update_rows(RankWork& to, const LookedUp& looked, const Gradients& gradients) const;
  /// Adds lines of vectors that no cache holds: those that a lookup writes, or those whose gradients are read.
  void add_lines(RankWork& to, Term term, double lines) const { add(to, term, step.far_vectors * lines); }
  /// Add values that are read or written as vectors are put together, and as gradients are copied: in caches, or past
  /// them.
  void add_outputs(RankWork& to, double values) const {
    add_copied(to, Term::output_value, Term::output_far_value, values);
  }
  void add_gradients(RankWork& to, double values) const {
    add_copied(to, Term::gradient_value, Term::gradient_far_value, values);
  }
  /// Adds the copy of outputs' gradients that are then divided where they lie.
  void add_divided_gradients(RankWork& to, double values) const { add_gradients(to, 4 * divided * values); }
  /// Adds the sort of positions by their rows, of which there are so many.
  void add_positions(RankWork& to, double positions, std::int64_t rows) const;
  /// Adds what a home's ids take where their owners are found by the buckets of their keys, each so many times.
  void route_keys(RankWork& home, const Shard& shard, const LookedUp& looked, int times) const;
  /// Adds the finding of the rows of a shard by their keys, where they come and go: each distinct key once, whose place
  /// all `positions` of it then have.
  void find_keys(RankWork& owner, const Shard& shard, const LookedUp& looked, double positions) const;
  /// Adds the values of vectors that are encoded by the sender or decoded by the receiver, and as many of their
  /// gradients.
  void add_codec(RankWork& to, double values) const;
  /// Adds buffers of the gradients of that many ids whose rows the rank holds.
  void add_held_gradients(RankWork& to, double ids, std::int64_t columns) const;
  /// Returns what the gradient of an id takes in arrays of all ids, where a feature pools by max.
  double bytes_of_max_gradient() const;

 private:
  void add_copied(RankWork& to, Term near, Term far, double values) const {
    add(to, near, (1.0 - step.far_vectors) * values);
    add(to, far, step.far_vectors * values);
  }
  /// Returns the lines of a random row, as many more as rows of that size are slower than the machine's lines.
  double lines_of_row(std::int64_t bytes) const;
  /// Returns whether the owner sorts ids by their keys for the lookup, and the update takes that order.
  bool sorts_for_lookup() const;
  bool adds_few(const Gradients& gradients) const;
};

/// Adds copies of some rows on every rank, and the sums of their gradients.
void add_replicas(const TableSums& sums, const RowSet& rows, TableWork& work);

/// Adds a shard whose rows travel one by one to every home and the owner: every rank requests them, or with dedup node
/// one rank of each node, which is one of the rail of the owner.
void add_single_rows(const TableSums& sums, const Shard& shard, const LookedUp& looked, RankWork& home, RankWork& owner,
                     RankWork& rail);

}  // namespace shardmark::placement
