// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor_train/row_differences.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/sort/balanced_ranges.hpp"

namespace shardmark::kernels {

/// Holds rows with differences, ascending, for kernels.
template <class Exec>
struct DifferentRows {
  ConstArray<Exec, std::int64_t> rows, places;

  /// Returns the number of the row among these, or -1.
  KOKKOS_FUNCTION std::int64_t find(std::int64_t row) const {
    const auto count = static_cast<std::int64_t>(rows.extent(0));
    const std::int64_t i = first_at_least(count, row, rows);
    return i < count && rows(i) == row ? i : -1;
  }
};

template <class Exec>
void find_differences(const Exec& exec, const DifferentRows<Exec>& differences,
                      const ConstArray<Exec, std::int64_t>& rows, const Array<Exec, std::int64_t>& places) {
  Kokkos::parallel_for(
      "shardmark::find_differences", static_range(exec, static_cast<std::int64_t>(rows.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const std::int64_t found = differences.find(rows(i));
        places(i) = found < 0 ? -1 : differences.places(found);
      });
}

template <class Exec>
void RowDifferences<Exec>::find(const Exec& exec, ConstArray<Exec, std::int64_t> rows,
                                Array<Exec, std::int64_t> places) const {
  find_differences<Exec>(exec, {rows_, places_}, rows, places);
}

template <class Exec>
void add_differences(const Exec& exec, const DifferentRows<Exec>& differences, const ConstArray<Exec, float>& of_rows,
                     std::int64_t dim, const ConstArray<Exec, std::int64_t>& rows, const Array<Exec, float>& vectors,
                     std::int64_t stride) {
  Kokkos::parallel_for(
      "shardmark::add_differences", static_range(exec, static_cast<std::int64_t>(rows.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const std::int64_t found = differences.find(rows(i));
        if (found < 0) return;
        const float* difference = &of_rows(differences.places(found) * dim);
        float* vector = &vectors(i * stride);
        for (std::int64_t c = 0; c < dim; ++c) vector[c] += difference[c];
      });
}

template <class Exec>
void RowDifferences<Exec>::add_to(const Exec& exec, ConstArray<Exec, std::int64_t> rows, Array<Exec, float> vectors,
                                  std::int64_t stride) const {
  if (count() > 0) add_differences<Exec>(exec, {rows_, places_}, vectors_, dim_, rows, vectors, stride);
}

template <class Exec>
std::int64_t RowDifferences<Exec>::bytes() const {
  return count() * (2 * std::int64_t{sizeof(std::int64_t)} + dim_ * std::int64_t{sizeof(float)});
}

/// Sets kept[i] to the number of the first i old rows that do not enter, [old + 1]; the places of those that do go to
/// freed. Returns how many are kept.
template <class Exec>
std::int64_t count_kept(const Exec& exec, const DifferentRows<Exec>& old,
                        const ConstArray<Exec, std::int64_t>& entering, const Array<Exec, std::int64_t>& kept,
                        const Array<Exec, std::int64_t>& freed) {
  const auto count = static_cast<std::int64_t>(old.rows.extent(0));
  std::int64_t total = 0;
  Kokkos::deep_copy(exec, kept, 1);
  Kokkos::parallel_for(
      "shardmark::differences_entering", static_range(exec, static_cast<std::int64_t>(entering.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const std::int64_t found = old.find(entering(i));
        if (found >= 0) kept(found) = 0;
      });
  Kokkos::parallel_scan(
      "shardmark::differences_kept", static_range(exec, count + 1),  // as if a row behind all were kept
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& sum, const bool final) {
        const std::int64_t keep = kept(i);
        if (final) {
          if (keep == 0) freed(i - sum) = old.places(i);
          kept(i) = sum;
        }
        sum += keep;
      },
      total);
  return total - 1;
}

/// Moves each old row that is kept to its place behind the leaving rows that are smaller.
template <class Exec>
void move_kept(const Exec& exec, const DifferentRows<Exec>& old, const ConstArray<Exec, std::int64_t>& kept,
               const ConstArray<Exec, std::int64_t>& leaving, const Array<Exec, std::int64_t>& rows,
               const Array<Exec, std::int64_t>& places) {
  constexpr std::int64_t block_size = on_device<Exec> ? 8 : 1024;
  const auto count = static_cast<std::int64_t>(old.rows.extent(0)),
             added = static_cast<std::int64_t>(leaving.extent(0));
  Kokkos::parallel_for(
      "shardmark::differences_move", static_range(exec, (count + block_size - 1) / block_size),
      KOKKOS_LAMBDA(const std::int64_t block) {
        const std::int64_t begin = block * block_size, end = Kokkos::min(count, begin + block_size);
        std::int64_t smaller = first_at_least(added, old.rows(begin), leaving);
        for (std::int64_t i = begin; i < end; ++i) {
          if (kept(i) == kept(i + 1)) continue;
          while (smaller < added && leaving(smaller) < old.rows(i)) ++smaller;
          rows(kept(i) + smaller) = old.rows(i);
          places(kept(i) + smaller) = old.places(i);
        }
      });
}

/// Gives places to the differences of leaving rows: the last of the free vectors first, then those behind the used
/// ones.
template <class Exec>
struct VectorPlaces {
  ConstArray<Exec, std::int64_t> free;
  std::int64_t free_count;
  std::int64_t used;

  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t i) const {
    return i < free_count ? free(free_count - 1 - i) : used + i - free_count;
  }
};

template <class Exec>
void insert_leaving(const Exec& exec, const DifferentRows<Exec>& old, const ConstArray<Exec, std::int64_t>& kept,
                    const ConstArray<Exec, std::int64_t>& leaving, const VectorPlaces<Exec>& free,
                    const Array<Exec, std::int64_t>& rows, const Array<Exec, std::int64_t>& places) {
  const auto count = static_cast<std::int64_t>(old.rows.extent(0));
  Kokkos::parallel_for(
      "shardmark::differences_insert", static_range(exec, static_cast<std::int64_t>(leaving.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const std::int64_t position = i + kept(first_at_least(count, leaving(i), old.rows));
        rows(position) = leaving(i);
        places(position) = free(i);
      });
}

template <class Exec>
void store_leaving(const Exec& exec, std::int64_t count, const VectorPlaces<Exec>& free,
                   const ConstArray<Exec, float>& from, std::int64_t stride, const Array<Exec, float>& to,
                   std::int64_t dim) {
  Kokkos::parallel_for(
      "shardmark::differences_store", static_range(exec, count), KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::int64_t c = 0; c < dim; ++c) to(free(i) * dim + c) = from(i * stride + c);
      });
}

/// Returns an array whose first `used` elements are those of `array`, with room for `wanted`, and for more if it had to
/// grow.
template <class Exec, class T>
Array<Exec, T> with_room(const Exec& exec, const Array<Exec, T>& array, std::int64_t used, std::int64_t wanted) {
  if (wanted <= static_cast<std::int64_t>(array.extent(0))) return array;
  const auto grown = allocate<Exec, T>(array.label(), wanted + wanted / 2);
  const std::pair<std::int64_t, std::int64_t> first(0, used);
  copy_array(exec, Kokkos::subview(grown, first), Kokkos::subview(array, first));
  exec.fence("shardmark: the differences moved to a larger array");
  return grown;
}

template <class Exec>
void RowDifferences<Exec>::merge(const Exec& exec, ConstArray<Exec, std::int64_t> leaving,
                                 ConstArray<Exec, float> vectors, std::int64_t stride,
                                 ConstArray<Exec, std::int64_t> entering) {
  const auto added = static_cast<std::int64_t>(leaving.extent(0)),
             entered = static_cast<std::int64_t>(entering.extent(0));
  if (added == 0 && (entered == 0 || count() == 0)) return;
  const DifferentRows<Exec> old{rows_, places_};
  const std::int64_t used = count() + free_count_;
  const auto kept = kept_.first(count() + 1);
  free_places_ = with_room(exec, free_places_, free_count_, free_count_ + Kokkos::min(entered, count()));
  const std::int64_t keep =
      count_kept<Exec>(exec, old, entering, kept,
                       Kokkos::subview(free_places_, std::pair(free_count_, std::int64_t(free_places_.extent(0)))));
  free_count_ += count() - keep;
  const VectorPlaces<Exec> free{free_places_, free_count_, used};
  const auto next_rows = next_rows_.first(keep + added), next_places = next_places_.first(keep + added);
  move_kept<Exec>(exec, old, kept, leaving, next_rows, next_places);
  insert_leaving<Exec>(exec, old, kept, leaving, free, next_rows, next_places);
  const std::int64_t new_vectors = Kokkos::max(added - free_count_, std::int64_t{0});
  vectors_ = with_room(exec, vectors_, used * dim_, (used + new_vectors) * dim_);
  store_leaving<Exec>(exec, added, free, vectors, stride, vectors_, dim_);
  exec.fence("shardmark: the differences are merged");
  free_count_ = Kokkos::max(free_count_ - added, std::int64_t{0});
  rows_ = next_rows;
  places_ = next_places;
  std::swap(rows_buffer_, next_rows_);
  std::swap(places_buffer_, next_places_);
}

template class RowDifferences<DefaultSpace>;

}  // namespace shardmark::kernels
