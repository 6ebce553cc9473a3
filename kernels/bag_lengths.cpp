// SPDX-License-Identifier: Apache-2.0
#include "kernels/bag_lengths.hpp"

#include "kernels/instantiate.hpp"

namespace shardmark::kernels {

template <class Exec>
void count_vectors(const Exec& exec, ConstArray<Exec, std::int32_t> lengths,
                   ConstArray<Exec, std::uint8_t> only_touched, Array<Exec, std::int64_t> before) {
  const auto bags = static_cast<std::int64_t>(lengths.extent(0));
  Kokkos::parallel_scan(
      "shardmark::count_vectors", static_range(exec, bags + 1),
      KOKKOS_LAMBDA(const std::int64_t b, std::int64_t& sum, const bool final) {
        if (final) before(b) = sum;
        if (b < bags) sum += lengths(b) > 0 || only_touched(b) == 0 ? 1 : 0;
      });
}

template <class Exec>
void sum_lengths(const Exec& exec, std::int64_t rows, ConstArray<Exec, std::int32_t> lengths,
                 ConstArray<Exec, std::int64_t> before, Array<Exec, std::int64_t> offsets) {
  const auto bags = static_cast<std::int64_t>(lengths.extent(0));
  const bool all = before.extent(0) == 0;
  Kokkos::parallel_scan(
      "shardmark::sum_lengths", static_range(exec, rows + bags + 1),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& sum, const bool final) {
        const std::int64_t b = i - rows;
        const bool has_vector = b < 0 || all || b == bags || before(b + 1) > before(b);
        if (final && has_vector) offsets(b < 0 || all ? i : rows + before(b)) = sum;
        if (b < bags) sum += b < 0 ? 1 : lengths(b);
      });
}

template <class Exec>
void count_up(const Exec& exec, Array<Exec, std::int64_t> numbers) {
  Kokkos::parallel_for(
      "shardmark::count_up", static_range(exec, static_cast<std::int64_t>(numbers.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { numbers(i) = i; });
}

template <class Exec>
void take(const Exec& exec, ConstArray<Exec, std::int64_t> values, ConstArray<Exec, std::int64_t> at,
          Array<Exec, std::int64_t> taken) {
  Kokkos::parallel_for(
      "shardmark::take", static_range(exec, static_cast<std::int64_t>(at.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { taken(i) = values(at(i)); });
}

#define BAG_LENGTHS_ON(Exec)              \
  SHARDMARK_INSTANCE(count_vectors<Exec>) \
  SHARDMARK_INSTANCE(sum_lengths<Exec>) SHARDMARK_INSTANCE(count_up<Exec>) SHARDMARK_INSTANCE(take<Exec>)
SHARDMARK_ON_EACH_SPACE(BAG_LENGTHS_ON)

}  // namespace shardmark::kernels
