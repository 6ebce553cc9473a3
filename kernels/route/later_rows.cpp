// SPDX-License-Identifier: Apache-2.0
#include "kernels/route/later_rows.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/sort/balanced_ranges.hpp"

namespace shardmark::kernels {

namespace {

KOKKOS_FORCEINLINE_FUNCTION bool is_later(std::int64_t id, std::int64_t first) { return first == 0 || id >= first; }

/// Calls body(bag, source, first) for the bags of one block: their number in the result, that among `bags`, and the
/// first row that stays.
template <class Exec, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_wanted_bags(std::int64_t block, const LaterRows<Exec>& wanted,
                                                 const Bags<Exec, std::int64_t>& bags, const Body& body) {
  std::int64_t b = block * items_in_a_row<Exec>;
  const std::int64_t end = Kokkos::min(wanted.bags, b + items_in_a_row<Exec>);
  const auto features = static_cast<std::int64_t>(wanted.first_row.extent(0));
  for (RangeWalk walk(wanted.first_bag.data(), features, b); b < end; walk.to(b)) {
    const std::int64_t shift = bags.first_bag(walk.range) - wanted.first_bag(walk.range);
    const std::int64_t first = wanted.first_row(walk.range), stop = walk.stop(end);
    for (; b < stop; ++b) body(b, b + shift, first);
  }
}

}  // namespace

template <class Exec>
Bags<Exec, std::int64_t> later_rows(const Exec& exec, const LaterRows<Exec>& wanted,
                                    const Bags<Exec, std::int64_t>& bags, LaterRowsWorkspace<Exec>& workspace) {
  const std::int64_t end = wanted.bags, blocks = (end + items_in_a_row<Exec> - 1) / items_in_a_row<Exec>;
  const auto offsets = workspace.offsets.first(end + 1);
  const auto indices = workspace.indices.first(wanted.ids);
  const auto weights = workspace.weights.first(bags.weights.extent(0) > 0 ? wanted.ids : 0);
  Kokkos::parallel_for(
      "shardmark::count_later_rows", static_range(exec, blocks), KOKKOS_LAMBDA(const std::int64_t block) {
        for_wanted_bags(block, wanted, bags, [&](std::int64_t bag, std::int64_t source, std::int64_t first) {
          const std::int64_t behind = bags.offsets(source + 1);
          std::int64_t count = 0;
          for (std::int64_t i = bags.offsets(source); i < behind; ++i)
            count += is_later(bags.indices(i), first) ? 1 : 0;
          offsets(bag) = count;
        });
      });
  Kokkos::parallel_scan(
      "shardmark::scan_later_rows", static_range(exec, end + 1),
      KOKKOS_LAMBDA(const std::int64_t b, std::int64_t& sum, const bool final) {
        const std::int64_t count = b < end ? offsets(b) : 0;
        if (final) offsets(b) = sum;
        sum += count;
      });
  Kokkos::parallel_for(
      "shardmark::take_later_rows", static_range(exec, blocks), KOKKOS_LAMBDA(const std::int64_t block) {
        for_wanted_bags(block, wanted, bags, [&](std::int64_t bag, std::int64_t source, std::int64_t first) {
          const std::int64_t behind = bags.offsets(source + 1);
          std::int64_t at = offsets(bag);
          for (std::int64_t i = bags.offsets(source); i < behind; ++i) {
            if (!is_later(bags.indices(i), first)) continue;
            if (weights.extent(0) > 0) weights(at) = bags.weights(i);
            indices(at++) = bags.indices(i) - first;
          }
        });
      });
  return {wanted.first_bag, offsets, indices, weights};
}

SHARDMARK_INSTANCE(later_rows<DefaultSpace>)

}  // namespace shardmark::kernels
