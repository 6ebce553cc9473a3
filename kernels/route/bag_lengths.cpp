// SPDX-License-Identifier: Apache-2.0
#include "kernels/route/bag_lengths.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/route/device_bag_lengths.hpp"

namespace shardmark::kernels {

/// This is the number of bags that one iteration of a scan goes through: on the host enough of them for a loop of its
/// own.
template <class Exec>
constexpr std::int64_t bags_of_block = on_device<Exec> ? 4 : 1024;

/// Counts the vectors of whole blocks of bags before it writes anything.
template <class Exec>
void count_vectors(const Exec& exec, ConstArray<Exec, std::int32_t> lengths,
                   ConstArray<Exec, std::uint8_t> only_touched, Array<Exec, std::int64_t> before) {
  constexpr std::int64_t block_size = bags_of_block<Exec>;
  const auto bags = static_cast<std::int64_t>(lengths.extent(0));
  Kokkos::parallel_scan(
      "shardmark::count_vectors", static_range(exec, bags / block_size + 1),
      KOKKOS_LAMBDA(const std::int64_t block, std::int64_t& sum, const bool final) {
        const std::int64_t begin = block * block_size, end = Kokkos::min(bags, begin + block_size);
        const auto vectors = [&](std::int64_t b) { return lengths(b) > 0 || only_touched(b) == 0 ? 1 : 0; };
        if (!final) {
          std::int32_t of_block = 0;
          for (std::int64_t b = begin; b < end; ++b) of_block += vectors(b);
          sum += of_block;
          return;
        }
        for (std::int64_t b = begin; b < end; ++b) {
          before(b) = sum;
          sum += vectors(b);
        }
        if (block == bags / block_size) before(bags) = sum;
      });
}

template <class Exec>
void count_up(const Exec& exec, Array<Exec, std::int64_t> numbers) {
  Kokkos::parallel_for(
      "shardmark::count_up", static_range(exec, static_cast<std::int64_t>(numbers.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { numbers(i) = i; });
}

/// Sums the lengths of whole blocks of vectors before it writes any offset.
template <class Exec>
void sum_lengths(const Exec& exec, std::int64_t rows, ConstArray<Exec, std::int32_t> lengths,
                 ConstArray<Exec, std::int64_t> before, Array<Exec, std::int64_t> offsets,
                 [[maybe_unused]] Scratch<Exec, std::uint32_t>& workspace) {
  constexpr std::int64_t block_size = bags_of_block<Exec>;
  const auto bags = static_cast<std::int64_t>(lengths.extent(0));
  const bool all = before.extent(0) == 0;
  count_up(exec, Kokkos::subview(offsets, std::pair(std::int64_t{0}, rows)));
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) {
    if (all) return device::sum_all_lengths(exec, rows, lengths, offsets, workspace);
  }
#endif
  Kokkos::parallel_scan(
      "shardmark::sum_lengths", static_range(exec, bags / block_size + 1),
      KOKKOS_LAMBDA(const std::int64_t block, std::int64_t& sum, const bool final) {
        const std::int64_t begin = block * block_size, end = Kokkos::min(bags, begin + block_size);
        std::int64_t id = rows + sum;
        if (!final) {
          for (std::int64_t b = begin; b < end; ++b) id += lengths(b);
        } else if (all) {
          for (std::int64_t b = begin; b < end; ++b) {
            offsets(rows + b) = id;
            id += lengths(b);
          }
        } else {
          for (std::int64_t b = begin; b < end; ++b) {
            if (before(b + 1) > before(b)) offsets(rows + before(b)) = id;
            id += lengths(b);
          }
        }
        sum = id - rows;
        if (final && block == bags / block_size) offsets(rows + (all ? bags : before(bags))) = id;
      });
}

template <class Exec>
void take(const Exec& exec, ConstArray<Exec, std::int64_t> values, ConstArray<Exec, std::int64_t> at,
          Array<Exec, std::int64_t> taken) {
  Kokkos::parallel_for(
      "shardmark::take", static_range(exec, static_cast<std::int64_t>(at.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { taken(i) = values(at(i)); });
}

SHARDMARK_INSTANCE(count_vectors<DefaultSpace>)
SHARDMARK_INSTANCE(sum_lengths<DefaultSpace>)
SHARDMARK_INSTANCE(count_up<DefaultSpace>)
SHARDMARK_INSTANCE(take<DefaultSpace>)

}  // namespace shardmark::kernels
