// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "reference/batch.hpp"
#include "workloads/batches/id_motion.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {

/// Return the id in [0, rows) to which the distribution maps r in [0, 1).
std::int64_t draw_power_law(double r, std::int64_t rows, double alpha);
std::int64_t draw_uniform(double r, std::int64_t rows);

/// Generates batches. Draws are keyed (seed, step, feature, sample): the same ids for any number of ranks. A sample
/// holds `hotness` ids, or 0 to 2 x hotness of them when the lengths are ragged; ids may repeat. Nested ids are in
/// `segments` segments of hotness / segments ids, or when ragged in 0 to twice as many, each of 0 to twice as many.
/// With a shift of n rows, row i of batch 0 is row i + n step, modulo the rows, of batch `step`; IdMotion says what
/// drift and overlap do. Rows are then scattered where ids are shuffled, and have keys anywhere among the 2^64 integers
/// in tables of any keys (drawn_key). Weights are multiples of 1/4 in (0, 2].
class IdGenerator {
 public:
  /// The workload must outlive the object.
  IdGenerator(const Workload& workload, std::uint64_t seed)
      : workload_(workload), seed_(seed), motion_(workload, seed) {}

  /// Returns samples [first, first + count) of global batch number `step`.
  Batch batch(std::int64_t step, std::int64_t first, std::int64_t count) const;

 private:
  /// Returns the key of a row of the law, 0 the hottest, where it has moved.
  std::int64_t key_of(std::int64_t table, std::int64_t id) const;

  const Workload& workload_;
  std::uint64_t seed_;
  IdMotion motion_;
};

}  // namespace shardmark::workloads
