// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/dense/matrix_view.hpp"

namespace shardmark::kernels::test {

/// Copies values to where dense models are computed.
inline Array<DenseExecution, float> computed_with(const std::vector<float>& values) {
  return array_of(DenseExecution(), values, "test::values");
}
inline void replace(const Array<DenseExecution, float>& array, const std::vector<float>& values) {
  Kokkos::deep_copy(DenseExecution(), array, computed_with(values));
}

/// Copies what has been computed to the host.
inline std::vector<float> computed(const Array<DenseExecution, float>& array) {
  const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), array);
  return {copy.data(), copy.data() + copy.extent(0)};
}

}  // namespace shardmark::kernels::test
