// SPDX-License-Identifier: Apache-2.0
#include "kernels/route/later_rows.hpp"

#include "kernels/instantiate.hpp"

namespace shardmark::kernels {

namespace {

KOKKOS_FORCEINLINE_FUNCTION bool is_later(std::int64_t id, std::int64_t first) { return first == 0 || id >= first; }

}  // namespace

template <class Exec>
Bags<Exec, std::int64_t> later_rows(const Exec& exec, ConstArray<Exec, std::int64_t> first_row,
                                    const Bags<Exec, std::int64_t>& bags, LaterRowsWorkspace<Exec>& workspace) {
  const auto features = static_cast<std::int64_t>(first_row.extent(0));
  const auto end = static_cast<std::int64_t>(bags.offsets.extent(0)) - 1;
  const auto offsets = workspace.offsets.first(end + 1);
  const auto indices = workspace.indices.first(static_cast<std::int64_t>(bags.indices.extent(0)));
  const auto weights = workspace.weights.first(static_cast<std::int64_t>(bags.weights.extent(0)));
  Kokkos::parallel_for(
      "shardmark::count_later_rows", static_range(exec, end + 1), KOKKOS_LAMBDA(const std::int64_t b) {
        offsets(b) = 0;
        if (b == end) return;
        const std::int64_t first = first_row(last_at_most(features, b, bags.first_bag));
        for (std::int64_t i = bags.offsets(b); i < bags.offsets(b + 1); ++i)
          offsets(b) += is_later(bags.indices(i), first) ? 1 : 0;
      });
  Kokkos::parallel_scan(
      "shardmark::scan_later_rows", static_range(exec, end + 1),
      KOKKOS_LAMBDA(const std::int64_t b, std::int64_t& sum, const bool final) {
        const std::int64_t count = offsets(b);
        if (final) offsets(b) = sum;
        sum += count;
      });
  Kokkos::parallel_for(
      "shardmark::take_later_rows", static_range(exec, end), KOKKOS_LAMBDA(const std::int64_t b) {
        const std::int64_t first = first_row(last_at_most(features, b, bags.first_bag));
        std::int64_t at = offsets(b);
        for (std::int64_t i = bags.offsets(b); i < bags.offsets(b + 1); ++i) {
          if (!is_later(bags.indices(i), first)) continue;
          if (weights.extent(0) > 0) weights(at) = bags.weights(i);
          indices(at++) = bags.indices(i) - first;
        }
      });
  return {bags.first_bag, offsets, indices, weights};
}

SHARDMARK_INSTANCE(later_rows<DefaultSpace>)

}  // namespace shardmark::kernels
