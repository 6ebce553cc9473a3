// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor_train/cached_rows.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/tensor_train/row_cache.hpp"
#include "reference/optimizer_step.hpp"

namespace shardmark::kernels {

template <class Exec>
void number_hits(const Exec& exec, ConstArray<Exec, std::int64_t> slots, ConstArray<Exec, std::int64_t> positions,
                 Array<Exec, std::int64_t> ids) {
  Kokkos::parallel_for(
      "shardmark::number_hits", static_range(exec, static_cast<std::int64_t>(slots.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        if (slots(i) >= 0) ids(positions(i)) = slots(i);
      });
}

template <class Exec>
void list_chosen(const Exec& exec, const TtKeys& tt, ConstArray<Exec, std::int64_t> chosen,
                 ConstArray<Exec, std::int64_t> rows, ConstArray<Exec, std::int64_t> positions,
                 Array<Exec, std::int64_t> chosen_keys, Array<Exec, std::int64_t> chosen_positions) {
  Kokkos::parallel_for(
      "shardmark::list_chosen", static_range(exec, static_cast<std::int64_t>(chosen.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        chosen_keys(i) = tt(rows(chosen(i)));
        chosen_positions(i) = positions.extent(0) == 0 ? chosen(i) : positions(chosen(i));
      });
}

template <class Exec>
void list_uses(const Exec& exec, const UniqueRows<Exec>& unique, std::int64_t first_unique, const TtKeys& tt,
               Array<Exec, std::int64_t> rows, Array<Exec, std::int64_t> uses) {
  Kokkos::parallel_for(
      "shardmark::list_uses", static_range(exec, static_cast<std::int64_t>(rows.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const std::int64_t u = first_unique + i;
        rows(i) = tt.row(unique.key(u));
        uses(i) = unique.begin(u + 1) - unique.begin(u);
      });
}

template <class Exec>
UniqueRows<Exec> rekeyed_rows(const Exec& exec, const UniqueRows<Exec>& unique, ConstArray<Exec, std::int64_t> numbers,
                              ConstArray<Exec, std::int64_t> keys, UniqueRowsWorkspace<Exec>& workspace) {
  const auto n = static_cast<std::int64_t>(keys.extent(0));
  const UniqueRows<Exec> rows{workspace.words.first(unique.positions()), workspace.segments.first(n + 1),
                              workspace.total.first(1), unique.position_bits};
  Kokkos::parallel_scan(
      "shardmark::rekeyed_rows", static_range(exec, n + 1),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& before, const bool final) {
        if (final) rows.segments(i) = before;
        if (final && i == n) rows.total(0) = n;
        if (i == n) return;
        const std::int64_t begin = unique.begin(numbers(i)), count = unique.begin(numbers(i) + 1) - begin;
        if (final)
          for (std::int64_t k = 0; k < count; ++k)
            rows.words(before + k) = rows.word(keys(i), unique.position(begin + k));
        before += count;
      });
  return rows;
}

template <class Exec>
void copy_vectors(const Exec& exec, std::int64_t count, std::int64_t dim, const PlacedVectors<Exec, const float>& from,
                  const PlacedVectors<Exec, float>& to) {
  Kokkos::parallel_for(
      "shardmark::copy_vectors", static_range(exec, count), KOKKOS_LAMBDA(const std::int64_t i) {
        if (to.at.extent(0) > 0 && to.at(i) < 0) return;
        const float* source = from.vector(i, dim);
        float* target = to.vector(i, dim);
        for (std::int64_t c = 0; c < dim; ++c) target[c] = source[c];
      });
}

template <class Exec>
void subtract_from(const Exec& exec, std::int64_t count, std::int64_t dim, const PlacedVectors<Exec, const float>& from,
                   const PlacedVectors<Exec, float>& to) {
  Kokkos::parallel_for(
      "shardmark::subtract_from", static_range(exec, count), KOKKOS_LAMBDA(const std::int64_t i) {
        const float* source = from.vector(i, dim);
        float* target = to.vector(i, dim);
        for (std::int64_t c = 0; c < dim; ++c) target[c] = source[c] - target[c];
      });
}

template <class Exec>
void reset_state(const Exec& exec, const Optimizer& optimizer, std::int64_t dim, ConstArray<Exec, std::int64_t> slots,
                 Array<Exec, float> state) {
  const std::int64_t size = state_per_row(optimizer.kind, dim);
  Kokkos::parallel_for(
      "shardmark::reset_state", static_range(exec, static_cast<std::int64_t>(slots.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::int64_t k = 0; k < size; ++k) state(slots(i) * size + k) = initial_state(optimizer, dim, k);
      });
}

template <class Exec>
void keep_stale(const Exec& exec, Array<Exec, std::int64_t> slots) {
  Kokkos::parallel_for(
      "shardmark::keep_stale", static_range(exec, static_cast<std::int64_t>(slots.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { slots(i) = slots(i) < row_not_cached ? stale_slot(slots(i)) : -1; });
}

SHARDMARK_INSTANCE(number_hits<DefaultSpace>)
SHARDMARK_INSTANCE(list_chosen<DefaultSpace>)
SHARDMARK_INSTANCE(rekeyed_rows<DefaultSpace>)
SHARDMARK_INSTANCE(list_uses<DefaultSpace>)
SHARDMARK_INSTANCE(copy_vectors<DefaultSpace>)
SHARDMARK_INSTANCE(subtract_from<DefaultSpace>)
SHARDMARK_INSTANCE(reset_state<DefaultSpace>)
SHARDMARK_INSTANCE(keep_stale<DefaultSpace>)

}  // namespace shardmark::kernels
