// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/dense/shared_errors.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

namespace shardmark {
namespace {

template <class T>
void append(std::string& key, std::span<const T> values) {
  key.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

/// Everything that the errors of a sample follow from.
std::string key_of(const Samples& samples, std::int64_t sample, std::int64_t numerical_features) {
  const Batch& batch = samples.batch;
  std::string key;
  for (std::int64_t f = 0; f < batch.features; ++f)
    reference::for_each_bag(batch, f, Pooling::sum, sample, 1, [&](const reference::Bag& bag) {
      key += std::to_string(bag.ids.size()) + ":";
      append(key, std::span<const std::int64_t>(bag.ids));
      append(key, std::span<const float>(bag.weights));
    });
  append(key, std::span<const float>(samples.dense).subspan(sample * numerical_features, numerical_features));
  return key;
}

}  // namespace

SharedErrors::SharedErrors(const Samples& samples, std::span<const Feature> features, std::int64_t numerical_features) {
  const Batch& batch = samples.batch;
  for (std::int64_t f = 0; f < batch.features; ++f) {
    const auto table = static_cast<std::size_t>(features[f].table);
    vectors_of_row_.resize(std::max(vectors_of_row_.size(), table + 1));
    for (std::int64_t i = batch.begin_of(f); i < batch.end_of(f); ++i) ++vectors_of_row_[table][batch.indices[i]];
  }
  std::unordered_map<std::size_t, double> alike;
  for (std::int64_t s = 0; s < batch.samples; ++s)
    samples_ = std::max(samples_, ++alike[std::hash<std::string_view>()(key_of(samples, s, numerical_features))]);
}

double SharedErrors::vectors(std::int64_t table, const reference::Bag& bag) const {
  std::int64_t most = 1;
  for (const std::int64_t id : bag.ids) most = std::max(most, vectors_of_row_[table].at(id));
  return static_cast<double>(most);
}

}  // namespace shardmark
