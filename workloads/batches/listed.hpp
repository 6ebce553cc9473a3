// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/batches/execution.hpp"

namespace shardmark::workloads {

/// A list that is made on the host and used by kernels; making it again allocates nothing while it does not grow.
template <class T>
struct Listed {
  std::vector<T> host;

  /// What `host` holds now; valid until the next call.
  const ConstDeviceArray<T>& array() { return made_ = scratch_.holding(Execution(), host); }
  /// What the last call of array() returned.
  const ConstDeviceArray<T>& made() const { return made_; }

 private:
  ConstDeviceArray<T> made_;
  DeviceScratch<T> scratch_{"shardmark::listed"};
};

}  // namespace shardmark::workloads
