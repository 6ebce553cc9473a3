// SPDX-License-Identifier: Apache-2.0
#include "kernels/wire/vector_errors.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/sort/balanced_ranges.hpp"

namespace shardmark::kernels {

template <class Exec>
VectorErrors vector_errors(const Exec& exec, std::int64_t rows, ConstArray<Exec, WireBlock> blocks,
                           ConstArray<Exec, float> vectors, ConstArray<Exec, float> became) {
  VectorErrors errors;
  if (rows == 0) return errors;
  const auto count = static_cast<std::int64_t>(blocks.extent(0));
  Kokkos::parallel_reduce(
      "shardmark::vector_errors", static_range(exec, rows),
      KOKKOS_LAMBDA(const std::int64_t row, double& squares, double& error_squares, double& largest) {
        const WireBlock& block = blocks(last_at_most(count, row, [&](std::int64_t b) { return blocks(b).first_row; }));
        const std::int64_t first = block.vectors + (row - block.first_row) * block.dim;
        double most = 0.0, most_error = 0.0;
        for (std::int64_t c = first; c < first + block.dim; ++c) {
          const double x = vectors(c), error = Kokkos::abs(became(c) - x);
          squares += x * x;
          error_squares += error * error;
          most = Kokkos::max(most, Kokkos::abs(x));
          most_error = Kokkos::max(most_error, error);
        }
        if (most > 0.0) largest = Kokkos::max(largest, most_error / most);
      },
      errors.squares, errors.error_squares, Kokkos::Max<double>(errors.largest));
  return errors;
}

SHARDMARK_INSTANCE(vector_errors<DefaultSpace>)

}  // namespace shardmark::kernels
