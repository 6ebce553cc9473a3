// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/route/bounds_check.hpp"
#include "kernels/route/bucketize.hpp"
#include "reference/batch.hpp"

namespace shardmark::kernels {

/// Inspects all ids, weights and offsets of a batch before anything is read by them. Throws InputError with the words
/// of check_batch, naming feature, sample and value: for bad offsets, and with BoundsCheck::on for a bad id or weight.
/// It takes one pass, and waits for the device once, when nothing is wrong.
///   bags: bags of each feature as samples, at least one feature; indices: those of `bags`, to be mended
///   keys: [features] of each feature's table;  first_sample: number of this rank's first sample, for the message
template <class Exec, class Index>
BagWarnings check_bags(const Exec& exec, BoundsCheck mode, const Bags<Exec, Index>& bags,
                       const Array<Exec, Index>& indices, ConstArray<Exec, KeyRange> keys,
                       std::int64_t first_sample = 0);

}  // namespace shardmark::kernels
