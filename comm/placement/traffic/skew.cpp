// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/traffic/skew.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "reference/counter_random.hpp"

namespace shardmark::placement {
namespace {

/// Splits what rank `from` sends in proportion to the weights: cell = difference of rounded partial sums, so that the
/// cells add up to `bytes`.
void split(ByteMatrix& matrix, int from, std::int64_t bytes, const std::vector<double>& weights) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0.0;
  std::int64_t before = 0;
  for (int to = 0; to < matrix.ranks(); ++to) {
    sum += weights[to];
    const bool last = to + 1 == matrix.ranks();
    const auto after = last ? bytes : static_cast<std::int64_t>(static_cast<double>(bytes) * (sum / all));
    matrix.set(from, to, after - before);
    before = after;
  }
}

/// Makes traffic in which every rank sends in proportion to the same weights.
ByteMatrix by_destination(int ranks, std::int64_t bytes, const std::vector<double>& weights) {
  ByteMatrix matrix(ranks);
  for (int from = 0; from < ranks; ++from) split(matrix, from, bytes, weights);
  return matrix;
}

}  // namespace

ByteMatrix uniform_traffic(int ranks, std::int64_t bytes, std::uint64_t) {
  return by_destination(ranks, bytes, std::vector<double>(static_cast<std::size_t>(ranks), 1.0));
}

ByteMatrix zipf_traffic(int ranks, std::int64_t bytes, std::uint64_t seed) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int rank) { return random_bits(seed, rank); });
  std::vector<double> weights(order.size());
  for (std::size_t place = 0; place < order.size(); ++place)
    weights[order[place]] = 1.0 / static_cast<double>(place + 1);
  return by_destination(ranks, bytes, weights);
}

ByteMatrix hot_traffic(int ranks, std::int64_t bytes, std::uint64_t seed) {
  std::vector<double> weights(static_cast<std::size_t>(ranks), 1.0);
  weights[random_bits(seed, ranks) % weights.size()] = std::max(1.0, 3.0 * static_cast<double>(ranks - 1));
  return by_destination(ranks, bytes, weights);
}

ByteMatrix banded_traffic(int ranks, std::int64_t bytes, std::uint64_t) {
  ByteMatrix matrix(ranks);
  for (int from = 0; from < ranks; ++from) {
    const std::int64_t half = bytes / 2;
    const int before = (from + ranks - 1) % ranks, after = (from + 1) % ranks;
    matrix.set(from, before, half);
    matrix.set(from, after, matrix(from, after) + bytes - half);
  }
  return matrix;
}

}  // namespace shardmark::placement
