// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"

namespace shardmark {

/// Where the steps run: the device when Kokkos has one, else OpenMP threads.
using Execution = Kokkos::DefaultExecutionSpace;

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

}  // namespace shardmark
