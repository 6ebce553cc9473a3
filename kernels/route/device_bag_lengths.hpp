// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/sort/device_cub.hpp"

#ifdef KOKKOS_ENABLE_CUDA
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_scan.cuh>

namespace shardmark::kernels::device {

/// Gives the length of a bag, and 0 for the one behind the last.
struct LengthOf {
  const std::int32_t* lengths;
  std::int64_t bags;

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t operator()(std::int64_t bag) const { return bag < bags ? lengths[bag] : 0; }
};

/// Does what sum_lengths() does where every bag has a pooled embedding, in one pass over the lengths, with CUB on the
/// stream of `exec`.
template <class Exec>
void sum_all_lengths(const Exec& exec, std::int64_t rows, ConstArray<Exec, std::int32_t> lengths,
                     const Array<Exec, std::int64_t>& offsets, Scratch<Exec, std::uint32_t>& workspace) {
  const auto bags = static_cast<std::int64_t>(lengths.extent(0));
  const auto length =
      thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), LengthOf{lengths.data(), bags});
  run_cub(workspace, [&](void* storage, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveScan(storage, bytes, length, offsets.data() + rows, cuda::std::plus<>{}, rows,
                                          bags + 1, exec.cuda_stream());
  });
}

}  // namespace shardmark::kernels::device
#endif
