// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/batches/execution.hpp"

namespace shardmark::workloads {

/// Returns the gradients of pooled embeddings and, behind them, `more` values that fill(all of them) writes: the
/// gradients of the single ids of bags pooled by max, whose update takes a vector per id. Without such bags (more = 0)
/// it returns the gradients as they are.
template <class Fill>
ConstDeviceArray<float> with_max_gradients(const ConstDeviceArray<float>& gradients, std::int64_t more,
                                           DeviceScratch<float>& scratch, const Fill& fill) {
  if (more == 0) return gradients;
  const auto size = static_cast<std::int64_t>(gradients.extent(0));
  const auto all = scratch.first(size + more);
  kernels::copy_array(Execution(), part(all, 0, size), gradients);
  fill(all);
  return all;
}

}  // namespace shardmark::workloads
