// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor_train/train_keys.hpp"

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
void list_row_keys(const Exec& exec, const TrainKeys& train, ConstArray<Exec, std::int64_t> rows,
                   Array<Exec, std::int64_t> keys) {
  Kokkos::parallel_for(
      "shardmark::list_row_keys", static_range(exec, static_cast<std::int64_t>(rows.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { keys(i) = train(rows(i)); });
}

template <class Exec>
void count_train_ids(const Exec& exec, ConstArray<Exec, TrainBags> blocks, ConstArray<Exec, std::int64_t> offsets,
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
void list_train_ids(const Exec& exec, ConstArray<Exec, TrainBags> blocks, ConstArray<Exec, std::int64_t> offsets,
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
void list_train_rows(const Exec& exec, const UniqueRows<Exec>& unique, ConstArray<Exec, TrainRows> trains,
                     Array<Exec, std::int64_t> keys, Array<Exec, std::int64_t> vectors) {
  for_each_of_runs(
      "shardmark::list_train_rows", exec, static_cast<std::int64_t>(keys.extent(0)),
      static_cast<std::int64_t>(trains.extent(0)), KOKKOS_LAMBDA(const std::int64_t k) { return trains(k).place; },
      KOKKOS_LAMBDA(const std::int64_t k, const std::int64_t i) {
        const TrainRows& train = trains(k);
        const std::int64_t number = i - train.place;
        keys(i) = train.keys(unique.key(train.first_unique + number) - train.row_key);
        vectors(i) = train.vector + number * train.dim;
      });
}

template <class Exec>
void mark_train_slices(const Exec& exec, const UniqueRows<Exec>& unique, ConstArray<Exec, TrainRows> trains,
                       ConstArray<Exec, std::int64_t> first_slice, Array<Exec, std::int32_t> touched) {
  Kokkos::deep_copy(exec, touched, 0);
  std::int64_t rows = 0;
  Kokkos::parallel_reduce(
      "shardmark::count_train_rows", static_range(exec, static_cast<std::int64_t>(trains.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t k, std::int64_t& sum) { sum += trains(k).rows; }, rows);
  for_each_of_runs(
      "shardmark::mark_train_slices", exec, rows, static_cast<std::int64_t>(trains.extent(0)),
      KOKKOS_LAMBDA(const std::int64_t k) { return trains(k).place; },
      KOKKOS_LAMBDA(const std::int64_t k, const std::int64_t i) {
        const TensorTrainShape& shape = trains(k).keys.shape;
        std::int64_t row = unique.key(trains(k).first_unique + i - trains(k).place) - trains(k).row_key;
        std::int64_t slice = first_slice(k) + shape.slices();
        for (int t = shape.cores - 1; t >= 0; --t) {
          slice -= shape.p[t];
          Kokkos::atomic_store(&touched(slice + row % shape.p[t]), 1);
          row /= shape.p[t];
        }
      });
}

#define TRAIN_KEYS_ON(Exec)                 \
  SHARDMARK_INSTANCE(list_row_keys<Exec>)   \
  SHARDMARK_INSTANCE(count_train_ids<Exec>) \
  SHARDMARK_INSTANCE(list_train_ids<Exec>)  \
  SHARDMARK_INSTANCE(list_train_rows<Exec>) \
  SHARDMARK_INSTANCE(mark_train_slices<Exec>)
SHARDMARK_ON_EACH_SPACE(TRAIN_KEYS_ON)

}  // namespace shardmark::kernels
