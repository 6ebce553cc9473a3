// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/array.hpp"
#include "workloads/batches/execution.hpp"

namespace shardmark::workloads {

/// Copies records of `width` elements that lie at these places to the host, one after the other, and back from there.
/// places: [n]. Both wait for the device.
template <class T>
std::vector<T> read_places(const T* from, std::int64_t width, const ConstDeviceArray<std::int64_t>& places);
template <class T>
void write_places(const std::vector<T>& records, std::int64_t width, const ConstDeviceArray<std::int64_t>& places,
                  T* to);

}  // namespace shardmark::workloads
