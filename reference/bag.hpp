// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/batch.hpp"
#include "reference/pooling.hpp"

namespace shardmark::reference {

/// The ids of one bag and their weights, which are empty when all are 1.
struct Bag {
  std::int64_t sample;
  std::int64_t position;  ///< of the id within its sample for Pooling::none, else 0
  std::span<const std::int64_t> ids;
  std::span<const float> weights;

  double weight(std::size_t i) const { return weights.empty() ? 1.0 : static_cast<double>(weights[i]); }
};

/// visit(Bag) for the bags of samples [first, first + count) of a feature; every id is one for Pooling::none.
template <class Visit>
void for_each_bag(const Batch& batch, std::int64_t feature, Pooling pooling, std::int64_t first, std::int64_t count,
                  Visit&& visit) {
  const auto bag_of = [&](std::int64_t sample, std::int64_t position, std::int64_t begin, std::int64_t end) {
    const auto at = static_cast<std::size_t>(begin), size = static_cast<std::size_t>(end - begin);
    const std::span weights(batch.weights);
    return Bag{sample, position, std::span(batch.indices).subspan(at, size),
               weights.empty() ? weights : weights.subspan(at, size)};
  };
  for (std::int64_t s = first; s < first + count; ++s) {
    const auto bag = static_cast<std::size_t>(feature * batch.samples + s);
    const std::int64_t begin = batch.offsets[bag], end = batch.offsets[bag + 1];
    if (pooling != Pooling::none) {
      visit(bag_of(s, 0, begin, end));
    } else {
      for (std::int64_t i = begin; i < end; ++i) visit(bag_of(s, i - begin, i, i + 1));
    }
  }
}

}  // namespace shardmark::reference
