// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor_train/tt_keys.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/sort/balanced_ranges.hpp"

namespace shardmark::kernels {

/// Calls body(run, i) for every i in [0, size), where `run` is the last one that begins at or before it. begin(run)
/// never decreases. Neighbouring i look for their run together.
template <class Exec, class Begin, class Body>
void for_each_of_runs(const char* label, const Exec& exec, std::int64_t size, std::int64_t runs, const Begin& begin,
                      const Body& body) {
  constexpr std::int64_t chunk = on_device<Exec> ? 1 : 512;
  Kokkos::parallel_for(
      label, static_range(exec, (size + chunk - 1) / chunk), KOKKOS_LAMBDA(const std::int64_t number) {
        const std::int64_t end = Kokkos::min(size, (number + 1) * chunk);
        std::int64_t i = number * chunk, run = last_at_most(runs, i, begin);
        for (; i < end; ++run) {
          const std::int64_t stop = run + 1 < runs ? Kokkos::min(end, begin(run + 1)) : end;
          for (; i < stop; ++i) body(run, i);
        }
      });
}

template <class Exec>
void list_row_keys(const Exec& exec, const TtKeys& tt, ConstArray<Exec, std::int64_t> rows,
                   Array<Exec, std::int64_t> keys) {
  Kokkos::parallel_for(
      "shardmark::list_row_keys", static_range(exec, static_cast<std::int64_t>(rows.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { keys(i) = tt(rows(i)); });
}

template <class Exec>
void count_tt_ids(const Exec& exec, ConstArray<Exec, TtBags> blocks, ConstArray<Exec, std::int64_t> offsets,
                  Array<Exec, std::int64_t> before) {
  const auto count = static_cast<std::int64_t>(blocks.extent(0));
  Kokkos::parallel_scan(
      "shardmark::count_train_ids", static_range(exec, count + 1),
      KOKKOS_LAMBDA(const std::int64_t b, std::int64_t& sum, const bool final) {
        if (final) before(b) = sum;
        if (b < count) sum += offsets(blocks(b).first_bag + blocks(b).bags) - offsets(blocks(b).first_bag);
      });
}

template <class Exec>
void list_tt_ids(const Exec& exec, ConstArray<Exec, TtBags> blocks, ConstArray<Exec, std::int64_t> offsets,
                 ConstArray<Exec, std::int64_t> before, ConstArray<Exec, std::int64_t> ids,
                 Array<Exec, std::int64_t> keys, Array<Exec, std::int64_t> positions) {
  for_each_of_runs(
      "shardmark::list_train_ids", exec, static_cast<std::int64_t>(keys.extent(0)),
      static_cast<std::int64_t>(blocks.extent(0)), before, KOKKOS_LAMBDA(const std::int64_t b, const std::int64_t i) {
        const std::int64_t position = offsets(blocks(b).first_bag) + i - before(b);
        keys(i) = blocks(b).keys(ids(position));
        positions(i) = position;
      });
}

template <class Exec>
void list_tt_rows(const Exec& exec, const UniqueRows<Exec>& unique, ConstArray<Exec, TtRows> tts,
                  Array<Exec, std::int64_t> keys, Array<Exec, std::int64_t> vectors) {
  for_each_of_runs(
      "shardmark::list_train_rows", exec, static_cast<std::int64_t>(keys.extent(0)),
      static_cast<std::int64_t>(tts.extent(0)), KOKKOS_LAMBDA(const std::int64_t k) { return tts(k).place; },
      KOKKOS_LAMBDA(const std::int64_t k, const std::int64_t i) {
        const TtRows& tt = tts(k);
        const std::int64_t number = i - tt.place;
        keys(i) = tt.keys(unique.key(tt.first_unique + number) - tt.row_key);
        vectors(i) = tt.vector + number * tt.dim;
      });
}

template <class Exec>
void mark_tt_slices(const Exec& exec, const UniqueRows<Exec>& unique, ConstArray<Exec, TtRows> tts,
                    ConstArray<Exec, std::int64_t> first_slice, Array<Exec, std::int32_t> touched) {
  Kokkos::deep_copy(exec, touched, 0);
  std::int64_t rows = 0;
  Kokkos::parallel_reduce(
      "shardmark::count_train_rows", static_range(exec, static_cast<std::int64_t>(tts.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t k, std::int64_t& sum) { sum += tts(k).rows; }, rows);
  for_each_of_runs(
      "shardmark::mark_train_slices", exec, rows, static_cast<std::int64_t>(tts.extent(0)),
      KOKKOS_LAMBDA(const std::int64_t k) { return tts(k).place; },
      KOKKOS_LAMBDA(const std::int64_t k, const std::int64_t i) {
        const TensorTrainShape& shape = tts(k).keys.shape;
        std::int64_t row = unique.key(tts(k).first_unique + i - tts(k).place) - tts(k).row_key;
        std::int64_t slice = first_slice(k) + shape.slices();
        for (int t = shape.cores - 1; t >= 0; --t) {
          slice -= shape.p[t];
          Kokkos::atomic_store(&touched(slice + row % shape.p[t]), 1);
          row /= shape.p[t];
        }
      });
}

SHARDMARK_INSTANCE(list_row_keys<DefaultSpace>)
SHARDMARK_INSTANCE(count_tt_ids<DefaultSpace>)
SHARDMARK_INSTANCE(list_tt_ids<DefaultSpace>)
SHARDMARK_INSTANCE(list_tt_rows<DefaultSpace>)
SHARDMARK_INSTANCE(mark_tt_slices<DefaultSpace>)

}  // namespace shardmark::kernels
