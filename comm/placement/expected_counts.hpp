// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/plan_counts.hpp"

namespace shardmark {

/// How ids are drawn, apart and independently. Row i of N has the probability
///   p_i = (G(i + 2) - G(i + 1)) / G(N + 1)   with G(y) = (y^(1 - alpha) - 1) / (1 - alpha), the logarithm for alpha =
///   1,
/// which is about (i + 1)^-alpha (workloads/batches/id_generator.hpp draws so). alpha = 0: every row equally likely.
struct IdStatistics {
  double alpha = 0.0;
  bool scattered = false;  ///< popular rows lie anywhere in the table, instead of at its beginning
  bool ragged = false;     ///< bags of 0 to 2 x hotness ids, all lengths equally likely, instead of always hotness
};

/// The expectation of exact_counts for so many samples. A row of probability p is named by a bag of h ids with
/// probability 1 - (1 - p)^h, and by some of n samples with 1 - (the product of (1 - p)^h over features)^n, which is
/// summed over the rows of a shard. The first 256 rows of a shard are added one by one; later ones in blocks over
/// which the row number grows by a sixteenth, by Gauss-Legendre quadrature of three points: within 1e-6 of the sum, and
/// a few hundred terms for any number of rows. With scattered rows, every shard is taken to hold its share of each
/// probability.
PlanCounts expected_counts(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                           std::int64_t samples, const IdStatistics& ids);

}  // namespace shardmark
