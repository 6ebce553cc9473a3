// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/sort/device_cub.hpp"
#include "kernels/sort/unique_rows.hpp"

#ifdef KOKKOS_ENABLE_CUDA
#include <thrust/iterator/counting_iterator.h>

#include <cub/device/device_select.cuh>

namespace shardmark::kernels::device {

/// Says whether a sorted word is the first of its key.
struct BeginsKey {
  const std::uint64_t* words;
  int position_bits;

  KOKKOS_FORCEINLINE_FUNCTION bool operator()(std::uint32_t i) const {
    return i == 0 || (words[i - 1] ^ words[i]) >> position_bits != 0;
  }
};

/// Takes the number of keys from CUB, and ends the segments behind the last.
struct KeyCount {
  std::int64_t *total, *segments;
  std::int64_t positions;

  KOKKOS_FORCEINLINE_FUNCTION const KeyCount& operator*() const { return *this; }
  KOKKOS_FORCEINLINE_FUNCTION const KeyCount& operator=(std::int64_t count) const {
    *total = count;
    segments[count] = positions;
    return *this;
  }
};

/// Fills in the segments and the total of `unique` in one pass over its words, fewer than 2^32, with CUB on the stream
/// of `exec`; `workspace` grows to what CUB asks for.
template <class Exec>
void select_segments(const Exec& exec, const UniqueRows<Exec>& unique, Scratch<Exec, std::uint32_t>& workspace) {
  run_cub(workspace, [&](void* storage, std::size_t& bytes) {
    return cub::DeviceSelect::If(storage, bytes, thrust::counting_iterator<std::uint32_t>(0), unique.segments.data(),
                                 KeyCount{unique.total.data(), unique.segments.data(), unique.positions()},
                                 unique.positions(), BeginsKey{unique.words.data(), unique.position_bits},
                                 exec.cuda_stream());
  });
}

}  // namespace shardmark::kernels::device
#endif
