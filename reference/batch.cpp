// SPDX-License-Identifier: Apache-2.0
#include "reference/batch.hpp"

#include <string>

#include "reference/error.hpp"

namespace shardmark {

Batch slice_samples(const Batch& batch, std::int64_t first, std::int64_t count) {
  Batch slice{.samples = count, .features = batch.features, .offsets = {0}, .indices = {}, .weights = {}};
  slice.offsets.reserve(static_cast<std::size_t>(slice.bags() + 1));
  for (std::int64_t f = 0; f < batch.features; ++f) {
    const auto begin_bag = batch.offsets.begin() + f * batch.samples + first;
    const std::int64_t begin = *begin_bag;
    const std::int64_t end = *(begin_bag + count);
    const std::int64_t base = slice.nnz() - begin;
    for (std::int64_t s = 1; s <= count; ++s) slice.offsets.push_back(*(begin_bag + s) + base);
    slice.indices.insert(slice.indices.end(), batch.indices.begin() + begin, batch.indices.begin() + end);
    if (!batch.weights.empty())
      slice.weights.insert(slice.weights.end(), batch.weights.begin() + begin, batch.weights.begin() + end);
  }
  return slice;
}

namespace {

void check_offsets(const Batch& batch) {
  if (std::ssize(batch.offsets) != batch.bags() + 1 || batch.offsets.front() != 0)
    throw InputError("batch: offsets must hold features x samples + 1 = " + std::to_string(batch.bags() + 1) +
                     " entries that start at 0, got " + std::to_string(batch.offsets.size()));
  for (std::int64_t bag = 0; bag < batch.bags(); ++bag) {
    const auto at = batch.offsets.begin() + bag;
    if (*(at + 1) < *at)
      throw InputError("batch: offsets decrease at feature " + std::to_string(bag / batch.samples) + ", sample " +
                       std::to_string(bag % batch.samples) + ": " + std::to_string(*at) + " then " +
                       std::to_string(*(at + 1)));
  }
  if (batch.offsets.back() != batch.nnz())
    throw InputError("batch: offsets end at " + std::to_string(batch.offsets.back()) + " but there are " +
                     std::to_string(batch.nnz()) + " ids");
  if (!batch.weights.empty() && batch.weights.size() != batch.indices.size())
    throw InputError("batch: " + std::to_string(batch.weights.size()) + " weights for " +
                     std::to_string(batch.nnz()) + " ids");
}

}  // namespace

void check_batch(const Batch& batch, std::span<const std::int64_t> rows) {
  check_offsets(batch);
  for (std::int64_t bag = 0; bag < batch.bags(); ++bag) {
    const std::int64_t limit = rows[static_cast<std::size_t>(bag / batch.samples)];
    for (auto i = batch.offsets[static_cast<std::size_t>(bag)]; i < batch.offsets[static_cast<std::size_t>(bag + 1)]; ++i) {
      const std::int64_t id = batch.indices[static_cast<std::size_t>(i)];
      if (id < 0 || id >= limit)
        throw InputError("batch: id " + std::to_string(id) + " of feature " + std::to_string(bag / batch.samples) +
                         ", sample " + std::to_string(bag % batch.samples) + " is outside its table of " +
                         std::to_string(limit) + " rows");
    }
  }
}

}  // namespace shardmark
