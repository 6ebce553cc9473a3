// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"

namespace shardmark::kernels {

/// Returns the stream of the kernels of Exec as libraries take it that order their work with theirs, a cudaStream_t;
/// null on the host.
template <class Exec>
void* stream_of([[maybe_unused]] const Exec& exec) {
#ifdef SHARDMARK_EMULATED_DEVICE
  return &emulated::Device::get();
#else
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) return exec.cuda_stream();
#endif
  return nullptr;
#endif
}

}  // namespace shardmark::kernels
