// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"

namespace shardmark::workloads {

/// Where the steps run: OpenMP threads, also where Kokkos has a device, because MPI is handed this memory.
using Execution = Kokkos::DefaultHostExecutionSpace;

template <class T>
using DeviceArray = kernels::Array<Execution, T>;
template <class T>
using ConstDeviceArray = kernels::ConstArray<Execution, T>;
template <class T>
using DeviceScratch = kernels::Scratch<Execution, T>;

/// Elements [begin, end).
template <class T>
DeviceArray<T> part(const DeviceArray<T>& array, std::int64_t begin, std::int64_t end) {
  return Kokkos::subview(array, std::pair(begin, end));
}

}  // namespace shardmark::workloads
