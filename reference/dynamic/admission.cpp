// SPDX-License-Identifier: Apache-2.0
#include "reference/dynamic/admission.hpp"

#include <algorithm>
#include <limits>

#include "reference/error.hpp"
#include "reference/number.hpp"

namespace shardmark::reference {

Admission admission_named(std::string_view text) {
  const auto refuse = [&](const std::string& reason) {
    throw InputError("admission '" + std::string(text) + "': " + reason + "; give all, counter:F or bloom:F:p");
  };
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;; rest.remove_prefix(parts.back().size() + 1)) {
    parts.push_back(rest.substr(0, rest.find(':')));
    if (parts.back().size() == rest.size()) break;
  }
  Admission admission{.kind = named<AdmissionKind>(parts[0])};
  const std::size_t numbers = index_of(admission.kind);  // all has none, counter F, bloom F and p
  if (parts.size() != numbers + 1)
    refuse("it takes " + std::to_string(numbers) + " numbers, not " + std::to_string(parts.size() - 1));
  if (numbers > 0) admission.uses = whole_number_in(parts[1]).value_or(0);
  if (admission.uses < 1 || admission.uses > std::numeric_limits<std::uint32_t>::max())
    refuse("F is a number of uses from 1 to 4294967295");
  if (numbers > 1) admission.false_positives = number_in<double>(parts[2]).value_or(0.0);
  if (numbers > 1 && !(admission.false_positives > 0.0 && admission.false_positives < 1.0))
    refuse("p is a probability between 0 and 1, both excluded");
  return admission;
}

std::string text_of(const Admission& admission) {
  std::string text(name_of(admission.kind));
  if (admission.kind != AdmissionKind::all) text += ":" + std::to_string(admission.uses);
  if (admission.kind == AdmissionKind::bloom) text += ":" + text_of_number(admission.false_positives);
  return text;
}

KeyFilter::KeyFilter(const Admission& admission, const KeyBuckets& buckets) : admission_(admission), buckets_(buckets) {
  if (admission.kind != AdmissionKind::bloom) return;
  shape_ = bloom_shape(admission);
  layers_.resize(static_cast<std::size_t>(key_buckets));
}

std::vector<std::int64_t> KeyFilter::counters_of(std::int64_t key, std::int64_t layer) const {
  std::vector<std::int64_t> counters;
  for (std::int64_t hash = 0; hash < shape_.hashes; ++hash)
    counters.push_back(BloomShape::counter(buckets_.bits(key), hash, shape_.counters(buckets_.bucket(key), layer)));
  return counters;
}

KeyFilter::Place KeyFilter::place(std::int64_t key) const {
  const auto& layers = layers_[buckets_.bucket(key)];
  for (std::int64_t layer = 0; layer < std::ssize(layers); ++layer) {
    if (layers[layer].empty()) continue;
    std::int64_t least = admission_.uses;
    for (const std::int64_t counter : counters_of(key, layer)) least = std::min(least, layers[layer][counter]);
    if (least > 0) return {layer, least};
  }
  return {};
}

std::int64_t KeyFilter::counted(std::int64_t key) const {
  if (admission_.kind == AdmissionKind::bloom) return place(key).count;
  const auto count = counts_.find(key);
  return count == counts_.end() ? 0 : count->second;
}

/// Returns the layer that takes so many fresh keys of a bucket, which has begun it.
std::int64_t KeyFilter::begin_layer(std::int64_t bucket, std::int64_t fresh) {
  auto& layers = layers_[bucket];
  const std::int64_t used =
      layers.empty() ? 0 : std::ranges::count_if(layers.back(), [](std::int64_t counter) { return counter > 0; });
  layers.resize(static_cast<std::size_t>(shape_.layers_for(bucket, std::ssize(layers), used, fresh)));
  const std::int64_t newest = std::ssize(layers) - 1;
  layers[newest].resize(static_cast<std::size_t>(shape_.counters(bucket, newest)));
  return newest;
}

void KeyFilter::count_in_bucket(std::int64_t bucket, const KeyUses& absent, std::vector<std::int64_t>& admitted) {
  std::map<std::int64_t, Place> before;
  for (const auto& [key, uses] : absent) before[key] = place(key);
  const std::int64_t fresh = std::ranges::count_if(before, [](const auto& of_key) { return of_key.second.layer < 0; });
  const std::int64_t newest = fresh > 0 ? begin_layer(bucket, fresh) : -1;
  for (const auto& [key, uses] : absent) {
    const auto [layer, count] = before[key];
    const std::int64_t at = layer < 0 ? newest : layer, now = add_saturated(count, uses, admission_.uses);
    for (const std::int64_t counter : counters_of(key, at))
      layers_[bucket][at][counter] = std::max(layers_[bucket][at][counter], now);
    if (now == admission_.uses) admitted.push_back(key);
  }
}

std::vector<std::int64_t> KeyFilter::admit(const KeyUses& absent) {
  std::vector<std::int64_t> admitted;
  if (admission_.kind == AdmissionKind::bloom) {
    std::map<std::int64_t, KeyUses> by_bucket;
    for (const auto& [key, uses] : absent) by_bucket[buckets_.bucket(key)][key] = uses;
    for (const auto& [bucket, of_bucket] : by_bucket) count_in_bucket(bucket, of_bucket, admitted);
    std::ranges::sort(admitted);
    return admitted;
  }
  for (const auto& [key, uses] : absent) {
    counts_[key] = add_saturated(counts_[key], uses, admission_.uses);
    if (counts_[key] < admission_.uses) continue;
    admitted.push_back(key);
    counts_.erase(key);
  }
  return admitted;
}

}  // namespace shardmark::reference
