// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/placed_bytes.hpp"

#include <cstring>

namespace shardmark::workloads {

/// Copies one record.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void copy_record(const T* from, std::int64_t width, T* to) {
  if constexpr (kernels::in_host_memory<Execution>)
    std::memcpy(to, from, static_cast<std::size_t>(width) * sizeof(T));
  else
    for (std::int64_t e = 0; e < width; ++e) to[e] = from[e];
}

/// Copies record places(i) of `from` to record i of `to`.
template <class T>
void gather_records(const T* from, std::int64_t width, const ConstDeviceArray<std::int64_t>& places, T* to) {
  constexpr std::int64_t ahead = 16;
  const auto n = static_cast<std::int64_t>(places.extent(0));
  Kokkos::parallel_for(
      "shardmark::gather_records", kernels::static_range(Execution(), n), KOKKOS_LAMBDA(const std::int64_t i) {
        if (i + ahead < n) kernels::prefetch(from + places(i + ahead) * width, width * std::int64_t{sizeof(T)});
        copy_record(from + places(i) * width, width, to + i * width);
      });
}

/// Copies record i of `from` to record places(i) of `to`.
template <class T>
void scatter_records(const ConstDeviceArray<T>& from, std::int64_t width, const ConstDeviceArray<std::int64_t>& places,
                     T* to) {
  Kokkos::parallel_for(
      "shardmark::scatter_records", kernels::static_range(Execution(), static_cast<std::int64_t>(places.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { copy_record(from.data() + i * width, width, to + places(i) * width); });
}

template <class T>
std::vector<T> read_places(const T* from, std::int64_t width, const ConstDeviceArray<std::int64_t>& places) {
  std::vector<T> records(places.extent(0) * static_cast<std::size_t>(width));
  if constexpr (kernels::in_host_memory<Execution>) {
    gather_records(from, width, places, records.data());
    Execution().fence("shardmark: records are gathered");
  } else {
    const auto gathered =
        kernels::allocate<Execution, T>("shardmark::gathered_records", static_cast<std::int64_t>(records.size()));
    gather_records(from, width, places, gathered.data());
    Kokkos::deep_copy(kernels::host_array(records), gathered);
  }
  return records;
}

template <class T>
void write_places(const std::vector<T>& records, std::int64_t width, const ConstDeviceArray<std::int64_t>& places,
                  T* to) {
  scatter_records<T>(kernels::array_of(Execution(), records, "shardmark::records"), width, places, to);
  Execution().fence("shardmark: records are at their places");
}

template std::vector<std::byte> read_places(const std::byte*, std::int64_t, const ConstDeviceArray<std::int64_t>&);
template std::vector<float> read_places(const float*, std::int64_t, const ConstDeviceArray<std::int64_t>&);
template void write_places(const std::vector<std::byte>&, std::int64_t, const ConstDeviceArray<std::int64_t>&,
                           std::byte*);
template void write_places(const std::vector<float>&, std::int64_t, const ConstDeviceArray<std::int64_t>&, float*);

}  // namespace shardmark::workloads
