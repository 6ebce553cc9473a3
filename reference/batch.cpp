// SPDX-License-Identifier: Apache-2.0
#include "reference/batch.hpp"

#include <cmath>
#include <string>

#include "reference/error.hpp"

namespace shardmark::reference {

std::string KeyRange::text() const {
  if (first == 0) return "its table of " + std::to_string(width + 1) + " rows";
  return "the keys " + std::to_string(first) + " to " + std::to_string(last()) + " of its table";
}

KeyRange key_range_of(const Table& table) { return table.any_key ? table.keys : KeyRange(table.rows); }

Batch slice_samples(const Batch& batch, std::int64_t first, std::int64_t count) {
  Batch slice{.samples = count, .features = batch.features, .offsets = {0}, .indices = {}, .weights = {}};
  const bool nested = !batch.first_segment.empty();
  if (nested) slice.first_segment = slice.segment_offsets = {0};
  slice.offsets.reserve(slice.bags() + 1);
  for (std::int64_t f = 0; f < batch.features; ++f) {
    const auto begin_bag = batch.offsets.begin() + f * batch.samples + first;
    const std::int64_t begin = *begin_bag;
    const std::int64_t end = *(begin_bag + count);
    const std::int64_t base = slice.nnz() - begin;
    for (std::int64_t s = 1; s <= count; ++s) slice.offsets.push_back(*(begin_bag + s) + base);
    slice.indices.insert(slice.indices.end(), batch.indices.begin() + begin, batch.indices.begin() + end);
    if (!batch.weights.empty())
      slice.weights.insert(slice.weights.end(), batch.weights.begin() + begin, batch.weights.begin() + end);
    for (std::int64_t s = first; nested && s < first + count; ++s) {
      const auto bag = batch.first_segment.begin() + f * batch.samples + s;
      for (std::int64_t k = *bag; k < *(bag + 1); ++k)
        slice.segment_offsets.push_back(batch.segment_offsets[k + 1] + base);
      slice.first_segment.push_back(std::ssize(slice.segment_offsets) - 1);
    }
  }
  return slice;
}

namespace {

void check_offsets(const Batch& batch) {
  if (std::ssize(batch.offsets) != batch.bags() + 1)
    throw InputError("batch: " + std::to_string(batch.features) + " features x " + std::to_string(batch.samples) +
                     " samples need " + std::to_string(batch.bags() + 1) + " offsets, got " +
                     std::to_string(batch.offsets.size()));
  if (batch.offsets.front() != 0)
    throw InputError("batch: offsets start at " + std::to_string(batch.offsets.front()) + " instead of 0");
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
    throw InputError("batch: " + std::to_string(batch.weights.size()) + " weights for " + std::to_string(batch.nnz()) +
                     " ids");
}

/// Checks that the segments of each bag begin and end where its ids do.
void check_segments(const Batch& batch) {
  const auto &first = batch.first_segment, &offsets = batch.segment_offsets;
  if (first.empty() && offsets.empty()) return;
  if (std::ssize(first) != batch.bags() + 1 || offsets.empty() || first.front() != 0 ||
      first.back() != std::ssize(offsets) - 1)
    throw InputError("batch: " + std::to_string(first.size()) + " first segments of bags and " +
                     std::to_string(offsets.size()) + " offsets of segments do not fit " +
                     std::to_string(batch.bags()) + " bags");
  for (std::int64_t bag = 0; bag < batch.bags(); ++bag) {
    bool fits = first[bag] <= first[bag + 1] && first[bag + 1] <= first.back();
    if (fits) fits = offsets[first[bag]] == batch.offsets[bag] && offsets[first[bag + 1]] == batch.offsets[bag + 1];
    for (std::int64_t k = first[bag]; fits && k < first[bag + 1]; ++k) fits = offsets[k] <= offsets[k + 1];
    if (!fits)
      throw InputError("batch: segments do not divide the ids of feature " + std::to_string(bag / batch.samples) +
                       ", sample " + std::to_string(bag % batch.samples));
  }
}

void check_ids(const Batch& batch, std::int64_t bag, const KeyRange& keys) {
  const auto where = [&] {
    return " of feature " + std::to_string(bag / batch.samples) + ", sample " + std::to_string(bag % batch.samples);
  };
  const auto end = static_cast<std::size_t>(batch.offsets[bag + 1]);
  for (auto i = static_cast<std::size_t>(batch.offsets[bag]); i < end; ++i) {
    if (const std::int64_t id = batch.indices[i]; !keys.contains(id))
      throw InputError("batch: id " + std::to_string(id) + where() + " is outside " + keys.text());
    if (!batch.weights.empty() && !std::isfinite(batch.weights[i]))
      throw InputError("batch: weight " + std::to_string(batch.weights[i]) + where() + " is not finite");
  }
}

}  // namespace

void check_batch(const Batch& batch, std::span<const KeyRange> keys) {
  if (batch.samples < 0 || batch.features != std::ssize(keys))
    throw InputError("batch: " + std::to_string(batch.features) + " features of " + std::to_string(batch.samples) +
                     " samples, but " + std::to_string(keys.size()) + " features are known");
  check_offsets(batch);
  check_segments(batch);
  for (std::int64_t bag = 0; bag < batch.bags(); ++bag) check_ids(batch, bag, keys[bag / batch.samples]);
}

void check_batch(const Batch& batch, std::span<const std::int64_t> rows) {
  check_batch(batch, std::vector<KeyRange>(rows.begin(), rows.end()));
}

}  // namespace shardmark::reference
