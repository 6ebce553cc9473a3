// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/dynamic/placed_bytes.hpp"

#include "reference/dynamic/eviction.hpp"

namespace shardmark::workloads {

/// Copies record places(i) of `from` to record i of `to`.
template <class T>
void gather_records(const T* from, std::int64_t width, const ConstDeviceArray<std::int64_t>& places,
                    const DeviceArray<T>& to) {
  Kokkos::parallel_for(
      "shardmark::gather_records", kernels::static_range(Execution(), static_cast<std::int64_t>(places.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::int64_t e = 0; e < width; ++e) to(i * width + e) = from[places(i) * width + e];
      });
}

/// Copies record i of `from` to record places(i) of `to`.
template <class T>
void scatter_records(const ConstDeviceArray<T>& from, std::int64_t width, const ConstDeviceArray<std::int64_t>& places,
                     T* to) {
  Kokkos::parallel_for(
      "shardmark::scatter_records", kernels::static_range(Execution(), static_cast<std::int64_t>(places.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::int64_t e = 0; e < width; ++e) to[places(i) * width + e] = from(i * width + e);
      });
}

template <class T>
std::vector<T> read_places(const T* from, std::int64_t width, const ConstDeviceArray<std::int64_t>& places) {
  const auto gathered = kernels::allocate<Execution, T>("shardmark::gathered_records",
                                                        static_cast<std::int64_t>(places.extent(0)) * width);
  gather_records(from, width, places, gathered);
  Execution().fence("shardmark: records are gathered");
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), gathered);
  return {host.data(), host.data() + host.extent(0)};
}

template <class T>
void write_places(const std::vector<T>& records, std::int64_t width, const ConstDeviceArray<std::int64_t>& places,
                  T* to) {
  scatter_records<T>(kernels::array_of(Execution(), records, "shardmark::records"), width, places, to);
  Execution().fence("shardmark: records are at their places");
}

template std::vector<std::byte> read_places(const std::byte*, std::int64_t, const ConstDeviceArray<std::int64_t>&);
template std::vector<float> read_places(const float*, std::int64_t, const ConstDeviceArray<std::int64_t>&);
template std::vector<RowUse> read_places(const RowUse*, std::int64_t, const ConstDeviceArray<std::int64_t>&);
template void write_places(const std::vector<std::byte>&, std::int64_t, const ConstDeviceArray<std::int64_t>&,
                           std::byte*);
template void write_places(const std::vector<float>&, std::int64_t, const ConstDeviceArray<std::int64_t>&, float*);

}  // namespace shardmark::workloads
