// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "kernels/array.hpp"

namespace shardmark::kernels::test {

/// What the typed tests loop over.
template <class ExecSpace, class IndexType>
struct Types {
  using Exec = ExecSpace;
  using Index = IndexType;
};
/// Where the kernels are tested: threads of the host, or a device.
using Space = DefaultSpace;
using Int32Ids = Types<Space, std::int32_t>;
using Int64Ids = Types<Space, std::int64_t>;
using IndexTypes = testing::Types<Int32Ids, Int64Ids>;

/// Half of the threads of the space, or all where there is but one.
inline Space half_of_the_threads() {
  return Space().concurrency() < 2 ? Space() : Kokkos::Experimental::partition_space(Space(), 1, 1)[0];
}

template <class T>
std::size_t at(T index) {
  return static_cast<std::size_t>(index);
}

using Random = std::mt19937_64;

inline std::int64_t draw(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

/// A CSR of bags on the host.
struct HostBags {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int64_t> indices;
  std::vector<float> weights;

  std::int64_t bags() const { return std::ssize(offsets) - 1; }
  std::int64_t size(std::int64_t bag) const { return offsets[at(bag + 1)] - offsets[at(bag)]; }

  void add(const std::vector<std::int64_t>& ids) {
    indices.insert(indices.end(), ids.begin(), ids.end());
    offsets.push_back(std::ssize(indices));
  }

  /// Bags of 0 .. 2 * hotness ids below `rows`: skewed towards 0, the first empty, with a repeated and a last-row bag.
  void add_random(Random& random, std::int64_t count, std::int64_t rows, std::int64_t hotness) {
    std::uniform_real_distribution<double> unit(0, 1);
    for (std::int64_t bag = 0; bag < count; ++bag) {
      std::vector<std::int64_t> ids(bag == 0 ? 0 : at(draw(random, 0, 2 * hotness)));
      for (auto& id : ids) id = static_cast<std::int64_t>(std::pow(unit(random), 3.0) * static_cast<double>(rows));
      if (bag == 1) ids = {rows - 1};
      if (bag == 2) ids = {rows / 2, rows / 2, rows - 1, rows / 2};
      add(ids);
    }
  }

  /// Multiples of 1/4 in [-1, 1], so that products with exact rows stay exact; some bags sum to 0.
  void add_weights(Random& random) {
    weights.resize(indices.size());
    for (auto& weight : weights) weight = 0.25F * static_cast<float>(draw(random, -4, 4));
  }
};

template <class T>
std::vector<T> converted(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

/// The values of an array on the host.
template <class View>
auto host(const View& view) {
  std::vector<typename View::non_const_value_type> values(view.extent(0));
  Kokkos::deep_copy(host_array(values), view);
  return values;
}

inline std::string seed_line(std::uint64_t seed) { return "seed " + std::to_string(seed); }

}  // namespace shardmark::kernels::test
