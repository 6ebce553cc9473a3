// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/table.hpp"

namespace shardmark::placement {

/// What a step does with a tensor train of which it names so many different rows.
struct TrainWork {
  double forward_flops = 0.0, backward_flops = 0.0;
  double updated_values = 0.0;  ///< of slices that some row is made of
  double sliced_values = 0.0;   ///< of all slices, and a count for each: what copies reduce
};

/// Rows are taken to be spread evenly over the table: of M prefixes, M (1 - (1 - 1/M)^rows) are different. Where the
/// direction is open, the cheaper one.
TrainWork train_work(const Table& table, double rows);

}  // namespace shardmark::placement
