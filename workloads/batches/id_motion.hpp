// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {

/// Says how the ids of a workload change from batch to batch: IdSpec::drift, overlap and shift. It is stateless: a
/// function of the seed and the number of the batch, so that every rank count has the same ids.
///
/// An overlap above that of the law, with which two batches drawn apart share rows, keeps bags: each is that of the
/// batch before with a probability for which repeated_rows() is the share of the distinct rows. Below it, a fixed part
/// of the table's ids take each other's rows with every batch, as many as that needs: an id that moves lands on a row
/// of the batch before by chance alone, so that the overlap of a table cannot fall below the share of its rows that a
/// batch has. Both hold of the table before it drifts.
///
/// With a drift, the rows of a table lie in 1,024 groups (or as many as rows), each a random part of them; every so
/// many batches a random share of the groups pass their rows on to the next of them. The few rows that are left when
/// groups are of one size stay where they are.
class IdMotion {
 public:
  IdMotion(const Workload& workload, std::uint64_t seed);

  /// Returns the number of the batch that a bag of batch `step` was drawn in.
  std::int64_t drawn_in(std::int64_t step, std::int64_t feature, std::int64_t sample) const;

  /// Is where the rows of all tables are in one batch.
  class InBatch {
   public:
    /// Returns the row of an id of the law, 0 the hottest.
    std::int64_t row(std::int64_t table, std::int64_t id) const;

   private:
    friend IdMotion;
    InBatch(const IdMotion& motion, std::int64_t step);

    const IdMotion& motion_;
    std::int64_t step_;
    std::map<std::int64_t, std::vector<std::int64_t>> groups_;  ///< by the number of groups: where each one is
  };
  InBatch in_batch(std::int64_t step) const { return {*this, step}; }

 private:
  struct OfTable {
    std::int64_t rows = 0;
    double kept = 0.0;       ///< probability that a bag is that of the batch before
    std::int64_t moved = 0;  ///< ids that take each other's rows with every batch
  };
  OfTable of_table(const Workload& workload, std::int64_t table) const;

  std::uint64_t seed_;
  IdSpec ids_;
  std::vector<OfTable> tables_;
  std::vector<std::int64_t> table_of_;  ///< by feature
};

}  // namespace shardmark::workloads
