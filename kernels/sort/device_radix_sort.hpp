// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/sort/device_cub.hpp"

#ifdef KOKKOS_ENABLE_CUDA
#include <cub/device/device_radix_sort.cuh>

namespace shardmark::kernels::device {

/// Sorts `words`, fewer than 2^32, by their bits [begin, end), stably, with CUB on the stream of `exec`. Returns the
/// one of the two arrays that holds the result; `workspace` grows to what CUB asks for.
template <class Exec>
Array<Exec, std::uint64_t> radix_sort(const Exec& exec, const Array<Exec, std::uint64_t>& words,
                                      const Array<Exec, std::uint64_t>& other, int begin, int end,
                                      Scratch<Exec, std::uint32_t>& workspace) {
  cub::DoubleBuffer<std::uint64_t> buffers(words.data(), other.data());
  run_cub(workspace, [&](void* storage, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(storage, bytes, buffers, static_cast<std::uint32_t>(words.size()), begin, end,
                                          exec.cuda_stream());
  });
  return buffers.Current() == words.data() ? words : other;
}

}  // namespace shardmark::kernels::device
#endif
