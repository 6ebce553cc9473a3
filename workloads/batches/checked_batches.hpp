// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/check_bags.hpp"
#include "workloads/batches/batch_source.hpp"

namespace shardmark::workloads {

/// Batches of `source` after kernels::check_bags.
///   on    throws InputError naming feature, sample and value of the first bad id or weight, or of broken offsets
///   warn  tells `notice` once per batch, and uses row 0 for bad ids; broken offsets still throw
/// rows [features]: those of each feature's table. With BoundsCheck::off, `source` itself is returned.
std::unique_ptr<BatchSource> checked(std::unique_ptr<BatchSource> source, kernels::BoundsCheck mode,
                                     std::vector<std::int64_t> rows, const datasets::Notice& notice);

}  // namespace shardmark::workloads
