// SPDX-License-Identifier: Apache-2.0
// What Kokkos instantiates in its own library for the memory spaces that it knows.
#include "kernels/array.hpp"

#define KOKKOS_IMPL_PUBLIC_INCLUDE
#include <impl/Kokkos_SharedAlloc_timpl.hpp>

namespace Kokkos::Impl {

template class HostInaccessibleSharedAllocationRecordCommon<shardmark::kernels::emulated::Space>;
template class SharedAllocationRecordCommon<shardmark::kernels::emulated::Space>;

}  // namespace Kokkos::Impl
