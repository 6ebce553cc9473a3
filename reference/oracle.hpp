// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "reference/batch.hpp"
#include "reference/dynamic/dynamic_table.hpp"
#include "reference/row_gradients.hpp"
#include "reference/storage.hpp"
#include "reference/touched_table.hpp"
#include "reference/wire_rounding.hpp"

namespace shardmark::reference {

/// Returns whether all bounds of a table are 0 (Oracle).
bool is_bit_exact(const std::vector<Table>& tables, const std::vector<Feature>& features, std::int64_t table,
                  const RowValues& rows, WireTypes wire);

/// Holds values and, for each, by how much another correct evaluation may differ (see TouchedTable).
struct Expected {
  std::vector<float> values;
  std::vector<float> bounds;
};

/// Runs whole training steps of all tables on one rank, serially: every distributed step is compared with them.
///
/// Bounds, with u = 2^-24 and n terms in a sum (docs/bounds.md): an output may differ by (n + 2) u sum|w x| and by what
/// its rows may differ, both over the bag's divisor; a maximum by what the terms that could be it may differ; a summed
/// gradient by (n + 2) u sum|w g|, or not at all where fp32 sums it exactly, and by what a bag pooled by max may give
/// to another id; a row and its state by what that may change, and by the roundings of the update (bounded_step.hpp).
///
/// What travels in a narrow wire type may differ by wire_bound more: outputs forward, gradients backward.
///
/// All bounds are 0 for a "bit exact" table: fp32 on the wire, exact row values (RowValues::unit > 0), not int8, SGD
/// without weight decay and with a power of two or 0 as its learning rate (or no optimizer), and features that pool by
/// sum or not at all. Then fp32 gives the same sums in any order as long as none grows beyond 2^24 times its finest
/// bit, which is verified: InputError names the table.
class Oracle {
 public:
  Oracle(const std::vector<Table>& tables, std::vector<Feature> features, const RowValues& rows,
         const GradientValues& gradients, WireTypes wire = {});

  /// Begins step `step`, from 0, of tables whose rows come and go: its lookups and its update follow. A step uses a key
  /// once, however many of its ids name it, so that it does not matter where repeated ids become one.
  void bring(const Batch& batch, std::int64_t step);

  /// Returns the pooled output of samples [first, first + count) of `feature`, [bags, dim] (for_each_bag).
  Expected lookup(const Batch& batch, std::int64_t feature, std::int64_t first, std::int64_t count);

  /// Appends the vector of one bag of `feature` to `expected`.
  void look_up(const Bag& bag, std::int64_t feature, Expected& expected);

  /// Updates every row that the global batch names, by the gradients of step `step`, from 0; the t of the optimizers
  /// and of stochastic rounding, whose seed is RowValues::seed, is step + 1. Then ends the step: rows may go.
  void update(const Batch& batch, std::int64_t step) { update(batch, step, bag_gradients(gradients_, step)); }
  /// Does the same by other gradients. on_table(number) is called before each table, which may take seconds.
  void update(
      const Batch& batch, std::int64_t step, const BagGradients& gradients,
      const std::function<void(std::int64_t)>& on_table = [](std::int64_t) {});

  /// Returns which keys have rows, and how they were used, of a table whose rows come and go; else null.
  const DynamicTable* dynamic(std::int64_t table) const { return dynamic_[table].get(); }

  bool bit_exact(std::int64_t table) const { return bit_exact_[table]; }
  const TouchedTable& table(std::int64_t number) const { return tables_[number]; }

  /// Returns what is stored of a table; stores and checks use these parts (StorageChoice::parts).
  std::span<const TouchedTable> parts(std::int64_t number) const {
    return computed_[number] ? computed_[number]->parts() : std::span(tables_).subspan(number, 1);
  }

 private:
  void add_table(const Table& table, const RowValues& initial);
  void end(std::int64_t step, std::int64_t table);
  /// Returns the gradient of a row of a table.
  BoundedGradient gradient_of(std::span<const GradientSum> sums, std::int64_t table) const;
  void update_table(const Batch& batch, std::int64_t step, std::int64_t number, const BagGradients& gradients);
  void update_computed(const Batch& batch, std::int64_t step, std::int64_t number, const BagGradients& gradients);

  std::vector<Feature> features_;
  GradientValues gradients_;
  WireTypes wire_;
  std::vector<std::unique_ptr<ComputedRows>> computed_;  ///< by table; null where a row is as it is stored
  /// These are by table. Of computed rows they hold those that were touched since the latest step, as the parts give
  /// them.
  std::vector<TouchedTable> tables_;
  std::vector<std::unique_ptr<DynamicTable>> dynamic_;  ///< by table; null where rows do not come and go
  std::vector<std::vector<std::int64_t>> absent_;       ///< by table: keys of the step that have no row
  std::vector<bool> bit_exact_;
  std::vector<bool> summed_as_given_;  ///< by table: its gradients are added as they are, not divided or rounded before
};

}  // namespace shardmark::reference
