// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include "kernels/dense/matrix_list.hpp"
#include "kernels/device_warps.hpp"
#include "kernels/simd.hpp"
#include "kernels/sort/balanced_ranges.hpp"
#include "reference/dense/layers.hpp"

namespace shardmark::kernels::device {

// These are the functions of interaction.hpp on a device.

template <class T>
using ListInKernels = ConstArray<DenseExecution, ListedMatrix<T>>;

/// Calls body(vector, sample, column) for the columns of the vectors of all samples, by the lanes of a tile for each.
template <class T, class Body>
struct VectorTiles {
  ListInKernels<T> vectors;
  std::int64_t samples;
  Body body;

  KOKKOS_FUNCTION void operator()(const WarpTile& tile, std::int64_t number, std::int64_t) const {
    const auto n = static_cast<std::int64_t>(vectors.extent(0)), sample = number / n;
    if (sample >= samples) return;
    const ListedMatrix<T>& vector = vectors(number % n);
    for (std::int64_t c = tile.lane; c < vector.matrix.columns; c += tile.lanes) body(vector, sample, c);
  }
};

template <class T, class Body>
void for_vector_columns(const std::string& label, const MatrixList<T>& vectors, std::int64_t samples,
                        const Body& body) {
  const std::int64_t n = std::ssize(vectors.host());
  if (n == 0) return;
  for_tiles(label, DenseExecution(), samples * n, std::max(4, tile_lanes(vectors.columns() / n)),
            VectorTiles<T, Body>{vectors.in_kernels(), samples, body});
}

/// Copies vectors to their columns of x.
struct Concatenate {
  Floats x;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(const ListedMatrix<const float>& vector, std::int64_t sample,
                                              std::int64_t c) const {
    x.row(sample)[vector.first + c] = load_global<1>(vector.matrix.row(sample) + c).at[0];
  }
};

/// Copies the columns of x to vectors.
struct SplitColumns {
  ConstFloats x;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(const ListedMatrix<float>& vector, std::int64_t sample,
                                              std::int64_t c) const {
    store_global<1>(vector.matrix.row(sample) + c, Chunk<float, 1>{{x.row(sample)[vector.first + c]}});
  }
};

/// Gives each value the gradient of the mean of its window.
struct SpreadMeans {
  ConstFloats x_gradient;
  reference::Windows windows;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(const ListedMatrix<float>& vector, std::int64_t sample,
                                              std::int64_t c) const {
    const std::int64_t window = windows.of(vector.first + c);
    const float gradient = x_gradient.row(sample)[window] * static_cast<float>(windows.weight(window));
    store_global<1>(vector.matrix.row(sample) + c, Chunk<float, 1>{{gradient}});
  }
};

/// Computes one mean, whose values may stand in several vectors.
struct AverageNeighbours {
  ListInKernels<const float> vectors;
  reference::Windows windows;
  Floats x;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    const std::int64_t sample = i / x.columns, window = i % x.columns, last = windows.last(window);
    std::int64_t place = windows.first(window);
    float sum = 0.0F;
    for (std::int64_t v = last_at_most(static_cast<std::int64_t>(vectors.extent(0)), place,
                                       [&](std::int64_t at) { return vectors(at).first; });
         place < last; ++v) {
      const ListedMatrix<const float>& vector = vectors(v);
      const std::int64_t end = Kokkos::min(last, vector.first + vector.matrix.columns);
      for (; place < end; ++place) sum += load_global<1>(vector.matrix.row(sample) + place - vector.first).at[0];
    }
    x.row(sample)[window] = sum * static_cast<float>(windows.weight(window));
  }
};

/// Returns a pointer of which the compiler knows that it points to shared memory.
KOKKOS_FORCEINLINE_FUNCTION float* in_shared_memory(void* pointer) {
#ifdef __CUDA_ARCH__
  pointer = __cvta_shared_to_generic(__cvta_generic_to_shared(pointer));
#endif
  return static_cast<float*>(pointer);
}

/// Describes how a team keeps n vectors of a sample in shared memory: `columns` columns at a time, in rows of `stride`
/// numbers, an odd multiple of 4, so that lanes that read four columns of different rows read from different banks.
struct SharedVectors {
  static constexpr int most_floats = 10 << 10;
  static constexpr int block = 3;  ///< so many vectors are taken together: what is read of one serves three products
  int n, dim, columns, stride;

  SharedVectors(std::int64_t vectors, std::int64_t width) : n(static_cast<int>(vectors)), dim(static_cast<int>(width)) {
    const auto odd_fours = [](int count) { return (count / 4 | 1) * 4; };
    const int fit = most_floats / n / 4 * 4, wanted = (dim + 3) / 4 * 4;
    columns = std::min(wanted, odd_fours(fit) <= fit ? fit : fit - 4);
    if (columns < 4)
      throw std::invalid_argument("dense model: the products of so many vectors need more shared memory");
    stride = odd_fours(columns);
  }
  KOKKOS_FUNCTION std::size_t bytes() const {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(stride) * sizeof(float);
  }
  KOKKOS_FORCEINLINE_FUNCTION int blocks() const { return (n + block - 1) / block; }

  /// Calls body(tile, first column, how many there are, rounded up to fours) when a team has columns of all vectors of
  /// a sample.
  template <class Team, class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_columns(const Team& team, const ListInKernels<const float>& vectors,
                                               std::int64_t sample, const Body& body) const {
    float* const tile = in_shared_memory(team.team_scratch(0).get_shmem_aligned(bytes(), 16));
    for (int begin = 0; begin < dim; begin += columns) {
      const int count = Kokkos::min(columns, dim - begin), padded = (count + 3) / 4 * 4;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, n), [&](const int v) {
        const float* const from = vectors(v).matrix.row(sample) + begin;
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, padded), [&](const int c) {
          tile[v * stride + c] = c < count ? load_global<1>(from + c).at[0] : 0.0F;
        });
      });
      team.team_barrier();
      body(tile, begin, padded);
      team.team_barrier();
    }
  }
};

/// Launches kernel(team) for a team of 64 lanes a sample.
template <class Kernel>
void for_sample_teams(const std::string& label, std::int64_t samples, const SharedVectors& shared,
                      const Kernel& kernel) {
  constexpr int lanes_of_team = 64;
  if (samples == 0) return;
  const int lanes = std::max(4, tile_lanes(shared.columns));
  Kokkos::TeamPolicy<DenseExecution, AsArguments> policy(DenseExecution(), static_cast<int>(samples),
                                                         lanes_of_team / lanes, lanes);
  policy.set_scratch_size(0, Kokkos::PerTeam(shared.bytes() + 16));
  Kokkos::parallel_for(label, policy, kernel);
}

/// Computes the products of the vectors of a sample, those of 3 with 3 others by one lane.
struct DotProducts {
  SharedVectors shared;
  ListInKernels<const float> vectors;
  Floats products;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t sample = team.league_rank();
    shared.for_columns(team, vectors, sample, [&](const float* tile, int begin, int count) {
      const int blocks = shared.blocks();
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, blocks * (blocks + 1) / 2), [&](const int number) {
        int i = static_cast<int>((Kokkos::sqrt(8.0F * static_cast<float>(number) + 1.0F) - 1.0F) / 2.0F);
        while (i * (i + 1) / 2 > number) --i;
        while ((i + 1) * (i + 2) / 2 <= number) ++i;
        multiply(tile, begin, count, products.row(sample), i * SharedVectors::block,
                 (number - i * (i + 1) / 2) * SharedVectors::block);
      });
    });
  }

 private:
  /// Adds the products of `count` columns of vectors i, i + 1, i + 2 with j, j + 1, j + 2; begin: the first column.
  KOKKOS_FORCEINLINE_FUNCTION void multiply(const float* tile, int begin, int count, float* to, int i, int j) const {
    constexpr int block = SharedVectors::block;
    float sums[block][block] = {};
    int at_i[block], at_j[block];
    SHARDMARK_UNROLL for (int k = 0; k < block; ++k) {
      at_i[k] = Kokkos::min(i + k, shared.n - 1) * shared.stride;
      at_j[k] = Kokkos::min(j + k, shared.n - 1) * shared.stride;
    }
    for (int c = 0; c < count; c += 4) {
      Chunk<float, 4> a[block], b[block];
      SHARDMARK_UNROLL for (int k = 0; k < block; ++k) {
        a[k] = load_chunk<4>(tile + at_i[k] + c);
        b[k] = load_chunk<4>(tile + at_j[k] + c);
      }
      SHARDMARK_UNROLL for (int k = 0; k < block; ++k) {
        SHARDMARK_UNROLL for (int l = 0; l < block; ++l) {
          SHARDMARK_UNROLL for (int x = 0; x < 4; ++x) sums[k][l] = fused(a[k].at[x], b[l].at[x], sums[k][l]);
        }
      }
    }
    SHARDMARK_UNROLL for (int k = 0; k < block; ++k) {
      SHARDMARK_UNROLL for (int l = 0; l < block; ++l) {
        if (i + k >= shared.n || j + l >= i + k) continue;
        float& product = to[reference::dot_place(i + k, j + l)];
        product = begin == 0 ? sums[k][l] : product + sums[k][l];
      }
    }
  }
};

/// Computes the gradients of the vectors of a sample, four columns of 3 of them by one lane.
struct DotGradients {
  SharedVectors shared;
  ListInKernels<const float> vectors;
  ConstFloats products_gradient;
  ListInKernels<float> gradients;
  bool add_first;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t sample = team.league_rank();
    shared.for_columns(team, vectors, sample, [&](const float* tile, int begin, int count) {
      const int fours = count / 4;
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, shared.blocks() * fours), [&](const int number) {
        sum_up(tile, begin, number % fours * 4, sample, number / fours * SharedVectors::block);
      });
    });
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void sum_up(const float* tile, int begin, int c, std::int64_t sample, int i) const {
    constexpr int block = SharedVectors::block;
    const float* const dz = products_gradient.row(sample);
    Chunk<float, 4> sums[block] = {};
    for (int j = 0; j < shared.n; ++j) {
      const Chunk<float, 4> e = load_chunk<4>(tile + j * shared.stride + c);
      SHARDMARK_UNROLL for (int k = 0; k < block; ++k) {
        const int of = Kokkos::min(i + k, shared.n - 1), low = Kokkos::min(of, j), high = Kokkos::max(of, j);
        const float factor = low == high ? 0.0F : read_only(dz + reference::dot_place(high, low));
        SHARDMARK_UNROLL for (int x = 0; x < 4; ++x) sums[k].at[x] = fused(factor, e.at[x], sums[k].at[x]);
      }
    }
    SHARDMARK_UNROLL for (int k = 0; k < block; ++k) {
      if (i + k < shared.n) {
        float* const to = gradients(i + k).matrix.row(sample) + begin + c;
        const int count = shared.dim - begin - c;
        if (add_first && i + k == 0) {
          const Chunk<float, 4> before = read_four(to, count);
          SHARDMARK_UNROLL for (int x = 0; x < 4; ++x) sums[k].at[x] += before.at[x];
        }
        write_four(to, sums[k], count);
      }
    }
  }
};

}  // namespace shardmark::kernels::device
