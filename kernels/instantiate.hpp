// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>

// Included by the .cpp files of kernels alone. A kernel is a template of its execution space, declared in its header
// and defined in its .cpp file, which instantiates it for every space that the library serves:
//
//   #define FILL_ROWS_ON(Exec) SHARDMARK_INSTANCE(fill_rows<Exec>) SHARDMARK_INSTANCE(read_rows<Exec>)
//   SHARDMARK_ON_EACH_SPACE(FILL_ROWS_ON)

/// Instantiates a function template that is not overloaded, without its parameters written out again.
#define SHARDMARK_INSTANCE(...) template decltype(__VA_ARGS__) __VA_ARGS__;

#if defined(SHARDMARK_EMULATED_DEVICE)
#define SHARDMARK_ON_EACH_SPACE(INSTANCES) INSTANCES(shardmark::kernels::emulated::Exec)
#elif defined(KOKKOS_ENABLE_CUDA)
#define SHARDMARK_ON_EACH_SPACE(INSTANCES) INSTANCES(Kokkos::DefaultHostExecutionSpace) INSTANCES(Kokkos::Cuda)
#else
#define SHARDMARK_ON_EACH_SPACE(INSTANCES) INSTANCES(Kokkos::DefaultHostExecutionSpace)
#endif
