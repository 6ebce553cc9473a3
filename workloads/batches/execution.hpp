// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"

namespace shardmark::workloads {

/// The steps run on OpenMP threads, also where Kokkos has a device, because MPI sends from and receives into this
/// memory.
using Execution = Kokkos::DefaultHostExecutionSpace;

template <class T>
using DeviceArray = kernels::Array<Execution, T>;
template <class T>
using ConstDeviceArray = kernels::ConstArray<Execution, T>;
template <class T>
using DeviceScratch = kernels::Scratch<Execution, T>;

/// Returns the elements [begin, end).
template <class T>
DeviceArray<T> part(const DeviceArray<T>& array, std::int64_t begin, std::int64_t end) {
  return Kokkos::subview(array, std::pair(begin, end));
}

/// Is a list that is made on the host and used by kernels; making it again allocates nothing while it does not grow.
template <class T>
struct HostList {
  std::vector<T> host;

  /// Copies what `host` holds now and returns the copy; valid until the next call.
  const ConstDeviceArray<T>& array() { return made_ = scratch_.holding(Execution(), host); }
  /// Returns the result of the last call of array().
  const ConstDeviceArray<T>& made() const { return made_; }

 private:
  ConstDeviceArray<T> made_;
  DeviceScratch<T> scratch_{"shardmark::listed"};
};

}  // namespace shardmark::workloads
