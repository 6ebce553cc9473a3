// SPDX-License-Identifier: Apache-2.0
#include "kernels/dense/interaction.hpp"

#include <numeric>
#include <vector>

#include "kernels/tensor_train/small_gemm.hpp"
#include "reference/dense/layers.hpp"

namespace shardmark::kernels {
namespace {

template <class T>
std::int64_t sum_of_widths(std::span<const MatrixView<T>> vectors) {
  return std::accumulate(vectors.begin(), vectors.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& v) { return sum + v.columns; });
}

/// Holds the arrays of one thread: vectors [n][dim], their transpose [dim][padded], and products or their gradients
/// [n][padded].
struct DotTile {
  std::int64_t n, dim, padded;
  float *vectors, *transposed, *products;

  static std::int64_t padded_to_lanes(std::int64_t n) { return (n + simd_width - 1) / simd_width * simd_width; }
  static std::int64_t size(std::int64_t n, std::int64_t dim) { return n * dim + (n + dim) * padded_to_lanes(n); }
  DotTile(float* at, std::int64_t n_, std::int64_t dim_)
      : n(n_),
        dim(dim_),
        padded(padded_to_lanes(n_)),
        vectors(at),
        transposed(at + n * dim),
        products(transposed + dim * padded) {}

  void load(std::span<const ConstFloats> from, std::int64_t sample) const {
    for (std::int64_t i = 0; i < n; ++i) std::copy_n(from[i].row(sample), dim, vectors + i * dim);
  }
  void transpose() const {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t c = 0; c < dim; ++c) transposed[c * padded + i] = vectors[i * dim + c];
  }
};

/// Calls body(tile, first sample, last) by all threads.
template <class Body>
void with_dot_tiles(std::span<const ConstFloats> vectors, std::int64_t samples, DotTiles& tiles, const Body& body) {
  const std::int64_t n = std::ssize(vectors), dim = vectors.front().columns;
  const std::int64_t size = DotTile::size(n, dim);
  const auto memory = tiles.scratch.first(size * DenseExecution().concurrency());
  for_each_part(samples, 1, [&](std::int64_t begin, std::int64_t end, std::int64_t thread) {
    const DotTile tile(memory.data() + thread * size, n, dim);
    std::fill_n(tile.vectors, size, 0.0F);  // what stands beside n is multiplied too
    body(tile, begin, end);
  });
}

}  // namespace

void concatenate(std::span<const ConstFloats> vectors, Floats x) {
  for_each_sample(x.rows, [&](std::int64_t s) {
    float* to = x.row(s);
    for (const ConstFloats& each : vectors) to = std::copy_n(each.row(s), each.columns, to);
  });
}

void split_columns(ConstFloats x, std::span<const Floats> vectors) {
  for_each_sample(x.rows, [&](std::int64_t s) {
    const float* from = x.row(s);
    for (const Floats& each : vectors) {
      std::copy_n(from, each.columns, each.row(s));
      from += each.columns;
    }
  });
}

void average_neighbours(std::span<const ConstFloats> vectors, std::int64_t stride, Floats x) {
  if (stride == 1) return concatenate(vectors, x);
  const reference::Windows windows(sum_of_widths(vectors), stride);
  for_each_sample(x.rows, [&](std::int64_t s) {
    std::int64_t window = 0, place = 0;
    float sum = 0.0F;
    for (const ConstFloats& each : vectors)
      for (std::int64_t c = 0; c < each.columns; ++c) {
        sum += each.row(s)[c];
        if (++place < windows.last(window)) continue;
        x.row(s)[window] = sum * static_cast<float>(windows.weight(window));
        ++window;
        sum = 0.0F;
      }
  });
}

void average_neighbours_backward(ConstFloats x_gradient, std::int64_t stride, std::span<const Floats> gradients) {
  if (stride == 1) return split_columns(x_gradient, gradients);
  const reference::Windows windows(sum_of_widths(gradients), stride);
  for_each_sample(x_gradient.rows, [&](std::int64_t s) {
    std::int64_t window = 0, place = 0;
    for (const Floats& each : gradients)
      for (std::int64_t c = 0; c < each.columns; ++c) {
        each.row(s)[c] = x_gradient.row(s)[window] * static_cast<float>(windows.weight(window));
        if (++place == windows.last(window)) ++window;
      }
  });
}

void dot_interaction(std::span<const ConstFloats> vectors, Floats products, DotTiles& tiles) {
  with_dot_tiles(vectors, products.rows, tiles, [&](const DotTile& tile, std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      tile.load(vectors, s);
      tile.transpose();
      host::small_gemm({tile.n, tile.padded, tile.dim}, GemmLeft<float>{tile.vectors, tile.dim, 1},
                       GemmRows<const float>{tile.transposed, tile.padded}, GemmRows<float>{tile.products, tile.padded},
                       GemmStart::zero);
      for (std::int64_t i = 1; i < tile.n; ++i)
        std::copy_n(tile.products + i * tile.padded, i, products.row(s) + reference::dot_place(i, 0));
    }
  });
}

void dot_interaction_backward(std::span<const ConstFloats> vectors, ConstFloats products_gradient,
                              std::span<const Floats> gradients, bool add_first, DotTiles& tiles) {
  const auto sum_up = [&](const DotTile& tile, std::int64_t s) {
    for (std::int64_t i = 1; i < tile.n; ++i)
      for (std::int64_t j = 0; j < i; ++j)
        tile.products[i * tile.padded + j] = tile.products[j * tile.padded + i] =
            products_gradient.row(s)[reference::dot_place(i, j)];
    host::small_gemm({tile.n, tile.dim, tile.n}, GemmLeft<float>{tile.products, tile.padded, 1},
                     GemmRows<const float>{tile.vectors, tile.dim}, GemmRows<float>{tile.transposed, tile.dim},
                     GemmStart::zero);
  };
  with_dot_tiles(vectors, products_gradient.rows, tiles,
                 [&](const DotTile& tile, std::int64_t begin, std::int64_t end) {
                   for (std::int64_t s = begin; s < end; ++s) {
                     tile.load(vectors, s);
                     sum_up(tile, s);
                     for (std::int64_t i = 0; i < tile.n; ++i) {
                       const float* const from = tile.transposed + i * tile.dim;
                       float* const to = gradients[i].row(s);
                       for (std::int64_t c = 0; c < tile.dim; ++c)
                         to[c] = add_first && i == 0 ? to[c] + from[c] : from[c];
                     }
                   }
                 });
}

}  // namespace shardmark::kernels
