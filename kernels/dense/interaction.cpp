// SPDX-License-Identifier: Apache-2.0
#include "kernels/dense/interaction.hpp"

#include "kernels/dense/device_interaction.hpp"
#include "kernels/dense/device_layers.hpp"
#include "kernels/tensor_train/small_gemm.hpp"
#include "reference/dense/layers.hpp"

namespace shardmark::kernels {
namespace {

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

  void load(const std::vector<ConstFloats>& from, std::int64_t sample) const {
    for (std::int64_t i = 0; i < n; ++i) std::copy_n(from[i].row(sample), dim, vectors + i * dim);
  }
  void transpose() const {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t c = 0; c < dim; ++c) transposed[c * padded + i] = vectors[i * dim + c];
  }
};

/// Calls body(tile, first sample, last) by all threads.
template <class Body>
void with_dot_tiles(const std::vector<ConstFloats>& vectors, std::int64_t samples, DotTiles& tiles, const Body& body) {
  const std::int64_t n = std::ssize(vectors), dim = vectors.front().columns;
  const std::int64_t size = DotTile::size(n, dim);
  const auto memory = tiles.scratch.first(size * HostThreads().concurrency());
  for_each_part(samples, 1, [&](std::int64_t begin, std::int64_t end, std::int64_t thread) {
    const DotTile tile(memory.data() + thread * size, n, dim);
    std::fill_n(tile.vectors, size, 0.0F);  // what stands beside n is multiplied too
    body(tile, begin, end);
  });
}

}  // namespace

void concatenate(const MatrixList<const float>& vectors, Floats x) {
  if constexpr (on_device<DenseExecution>)
    return device::for_vector_columns("shardmark::concatenate", vectors, x.rows, device::Concatenate{x});
  for_each_sample(x.rows, [&](std::int64_t s) {
    float* to = x.row(s);
    for (const ConstFloats& each : vectors.host()) to = std::copy_n(each.row(s), each.columns, to);
  });
}

void split_columns(ConstFloats x, const MatrixList<float>& vectors) {
  if constexpr (on_device<DenseExecution>)
    return device::for_vector_columns("shardmark::split_columns", vectors, x.rows, device::SplitColumns{x});
  for_each_sample(x.rows, [&](std::int64_t s) {
    const float* from = x.row(s);
    for (const Floats& each : vectors.host()) {
      std::copy_n(from, each.columns, each.row(s));
      from += each.columns;
    }
  });
}

void copy_matrix(ConstFloats from, Floats to) {
  if constexpr (on_device<DenseExecution>)
    return device::for_elements("shardmark::copy_matrix", to.rows, to.columns, device::CopyMatrix{from, to});
  for_each_sample(to.rows, [&](std::int64_t s) { std::copy_n(from.row(s), to.columns, to.row(s)); });
}

void average_neighbours(const MatrixList<const float>& vectors, std::int64_t stride, Floats x) {
  if (stride == 1) return concatenate(vectors, x);
  const reference::Windows windows(vectors.columns(), stride);
  if constexpr (on_device<DenseExecution>)
    return device::for_elements("shardmark::average_neighbours", x.rows, x.columns,
                                device::AverageNeighbours{vectors.in_kernels(), windows, x});
  for_each_sample(x.rows, [&](std::int64_t s) {
    std::int64_t window = 0, place = 0;
    float sum = 0.0F;
    for (const ConstFloats& each : vectors.host())
      for (std::int64_t c = 0; c < each.columns; ++c) {
        sum += each.row(s)[c];
        if (++place < windows.last(window)) continue;
        x.row(s)[window] = sum * static_cast<float>(windows.weight(window));
        ++window;
        sum = 0.0F;
      }
  });
}

void average_neighbours_backward(ConstFloats x_gradient, std::int64_t stride, const MatrixList<float>& gradients) {
  if (stride == 1) return split_columns(x_gradient, gradients);
  const reference::Windows windows(gradients.columns(), stride);
  if constexpr (on_device<DenseExecution>)
    return device::for_vector_columns("shardmark::spread_means", gradients, x_gradient.rows,
                                      device::SpreadMeans{x_gradient, windows});
  for_each_sample(x_gradient.rows, [&](std::int64_t s) {
    std::int64_t window = 0, place = 0;
    for (const Floats& each : gradients.host())
      for (std::int64_t c = 0; c < each.columns; ++c) {
        each.row(s)[c] = x_gradient.row(s)[window] * static_cast<float>(windows.weight(window));
        if (++place == windows.last(window)) ++window;
      }
  });
}

namespace {

device::SharedVectors shared_vectors(const MatrixList<const float>& vectors) {
  return {std::ssize(vectors.host()), vectors.host().front().columns};
}

}  // namespace

void dot_interaction(const MatrixList<const float>& vectors, Floats products, DotTiles& tiles) {
  if constexpr (on_device<DenseExecution>) {
    const device::SharedVectors shared = shared_vectors(vectors);
    return device::for_sample_teams("shardmark::dot_products", products.rows, shared,
                                    device::DotProducts{shared, vectors.in_kernels(), products});
  }
  with_dot_tiles(vectors.host(), products.rows, tiles, [&](const DotTile& tile, std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      tile.load(vectors.host(), s);
      tile.transpose();
      host::small_gemm({tile.n, tile.padded, tile.dim}, GemmLeft<float>{tile.vectors, tile.dim, 1},
                       GemmRows<const float>{tile.transposed, tile.padded}, GemmRows<float>{tile.products, tile.padded},
                       GemmStart::zero);
      for (std::int64_t i = 1; i < tile.n; ++i)
        std::copy_n(tile.products + i * tile.padded, i, products.row(s) + reference::dot_place(i, 0));
    }
  });
}

void dot_interaction_backward(const MatrixList<const float>& vectors, ConstFloats products_gradient,
                              const MatrixList<float>& gradients, bool add_first, DotTiles& tiles) {
  if constexpr (on_device<DenseExecution>) {
    const device::SharedVectors shared = shared_vectors(vectors);
    return device::for_sample_teams(
        "shardmark::dot_gradients", products_gradient.rows, shared,
        device::DotGradients{shared, vectors.in_kernels(), products_gradient, gradients.in_kernels(), add_first});
  }
  const auto sum_up = [&](const DotTile& tile, std::int64_t s) {
    for (std::int64_t i = 1; i < tile.n; ++i)
      for (std::int64_t j = 0; j < i; ++j)
        tile.products[i * tile.padded + j] = tile.products[j * tile.padded + i] =
            products_gradient.row(s)[reference::dot_place(i, j)];
    host::small_gemm({tile.n, tile.dim, tile.n}, GemmLeft<float>{tile.products, tile.padded, 1},
                     GemmRows<const float>{tile.vectors, tile.dim}, GemmRows<float>{tile.transposed, tile.dim},
                     GemmStart::zero);
  };
  with_dot_tiles(vectors.host(), products_gradient.rows, tiles,
                 [&](const DotTile& tile, std::int64_t begin, std::int64_t end) {
                   for (std::int64_t s = begin; s < end; ++s) {
                     tile.load(vectors.host(), s);
                     sum_up(tile, s);
                     for (std::int64_t i = 0; i < tile.n; ++i) {
                       const float* const from = tile.transposed + i * tile.dim;
                       float* const to = gradients.host()[i].row(s);
                       for (std::int64_t c = 0; c < tile.dim; ++c)
                         to[c] = add_first && i == 0 ? to[c] + from[c] : from[c];
                     }
                   }
                 });
}

}  // namespace shardmark::kernels
