// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"

#ifdef KOKKOS_ENABLE_CUDA
#include <stdexcept>

namespace shardmark::kernels::device {

/// Makes call(storage, bytes), of CUB: first without storage, for the bytes that it wants, to which `workspace` grows;
/// then with it. Throws std::runtime_error where CUB does not return cudaSuccess.
template <class Exec, class Call>
void run_cub(Scratch<Exec, std::uint32_t>& workspace, const Call& call) {
  std::size_t bytes = 0;
  const auto run = [&](void* storage) {
    if (const cudaError_t error = call(storage, bytes); error != cudaSuccess)
      throw std::runtime_error(std::string("cub: ") + cudaGetErrorString(error));
  };
  run(nullptr);
  run(workspace.first(static_cast<std::int64_t>(bytes / sizeof(std::uint32_t) + 1)).data());
}

}  // namespace shardmark::kernels::device
#endif
