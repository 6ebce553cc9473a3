// SPDX-License-Identifier: Apache-2.0
// Where the ids of bags begin, and which bags have a vector, from the lengths of the bags.
#pragma once

#include "workloads/batches/execution.hpp"

namespace shardmark {

/// before[b] = vectors of the bags before b, b = 0 .. bags: a bag has one unless it is empty and only_touched[b] is 1.
inline void count_vectors(const DeviceArray<std::int32_t>& lengths, const ConstDeviceArray<std::uint8_t>& only_touched,
                          const DeviceArray<std::int64_t>& before) {
  const auto bags = static_cast<std::int64_t>(lengths.extent(0));
  Kokkos::parallel_scan(
      "shardmark::count_vectors", kernels::static_range(Execution(), bags + 1),
      KOKKOS_LAMBDA(const std::int64_t b, std::int64_t& sum, const bool final) {
        if (final) before(b) = sum;
        if (b < bags) sum += lengths(b) > 0 || only_touched(b) == 0 ? 1 : 0;
      });
}

/// offsets[v] = sum of the lengths before the bag of vector v, and their whole sum behind. before: of count_vectors, or
/// empty when every bag has a vector.
inline void sum_lengths(const DeviceArray<std::int32_t>& lengths, const ConstDeviceArray<std::int64_t>& before,
                        const DeviceArray<std::int64_t>& offsets) {
  const auto bags = static_cast<std::int64_t>(lengths.extent(0));
  const bool all = before.extent(0) == 0;
  Kokkos::parallel_scan(
      "shardmark::sum_lengths", kernels::static_range(Execution(), bags + 1),
      KOKKOS_LAMBDA(const std::int64_t b, std::int64_t& sum, const bool final) {
        if (final && (all || b == bags || before(b + 1) > before(b))) offsets(all ? b : before(b)) = sum;
        if (b < bags) sum += lengths(b);
      });
}

/// taken[i] = values[at[i]]
inline void take(const ConstDeviceArray<std::int64_t>& values, const ConstDeviceArray<std::int64_t>& at,
                 const DeviceArray<std::int64_t>& taken) {
  Kokkos::parallel_for(
      "shardmark::take", kernels::static_range(Execution(), static_cast<std::int64_t>(at.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { taken(i) = values(at(i)); });
}

/// Puts `rows` bags of one id each before those whose offsets begin at element `rows`.
inline void put_rows_before(std::int64_t rows, const DeviceArray<std::int64_t>& offsets) {
  if (rows == 0) return;
  Kokkos::parallel_for(
      "shardmark::put_rows_before", kernels::static_range(Execution(), static_cast<std::int64_t>(offsets.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t b) { offsets(b) = b < rows ? b : rows + offsets(b); });
}

}  // namespace shardmark
