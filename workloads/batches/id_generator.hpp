// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "reference/batch.hpp"
#include "workloads/batches/id_motion.hpp"
#include "workloads/cases/key_births.hpp"

namespace shardmark::workloads {

/// Return the id in [0, rows) to which the distribution maps r in [0, 1).
std::int64_t draw_power_law(double r, std::int64_t rows, double alpha);
std::int64_t draw_uniform(double r, std::int64_t rows);

/// Generates batches. Draws are keyed (seed, step, feature, sample): the same ids for any number of ranks. A sample
/// holds `hotness` ids, or 0 to 2 x hotness of them when the lengths are ragged; ids may repeat. Nested ids are in
/// `segments` segments of hotness / segments ids, or when ragged in 0 to twice as many, each of 0 to twice as many.
/// With a shift of n rows, row i of batch 0 is row i + n step, modulo the rows, of batch `step`; IdMotion says what
/// drift and overlap do. Rows are then scattered where ids are shuffled, and have keys anywhere among the 2^64 integers
/// in tables of any keys (drawn_key), where keys are born and die by KeyBirths: new ones at random places of a batch,
/// colder than all before, or each in the place of one that has died. Weights are multiples of 1/4 in (0, 2].
class IdGenerator {
 public:
  /// The workload must outlive the object.
  IdGenerator(const Workload& workload, std::uint64_t seed);

  /// Returns samples [first, first + count) of global batch number `step`.
  Batch batch(std::int64_t step, std::int64_t first, std::int64_t count) const;

 private:
  /// Returns the key of row `id` of the law, 0 the hottest, of a table of any keys in batch `step`.
  std::int64_t living_key(std::int64_t table, std::int64_t step, std::int64_t id) const;
  /// Returns the number of the key that is born at this place; -1: none is.
  std::int64_t born_at(std::int64_t table, std::int64_t drawn_in, std::int64_t place) const;

  const Workload& workload_;
  std::uint64_t seed_;
  IdMotion motion_;
  std::vector<KeyBirths> births_;          ///< by table
  std::vector<std::int64_t> first_place_;  ///< by feature: of a batch, among the places of its table
};

}  // namespace shardmark::workloads
