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
  counters_.resize(static_cast<std::size_t>(key_buckets * shape_.counters));
}

std::vector<std::int64_t> KeyFilter::counters_of(std::int64_t key) const {
  const std::uint64_t bits = buckets_.bits(key);
  std::vector<std::int64_t> counters;
  for (std::int64_t hash = 0; hash < shape_.hashes; ++hash)
    counters.push_back((KeyBuckets::bucket_of_bits(bits) * shape_.counters) + shape_.counter(bits, hash));
  return counters;
}

std::int64_t KeyFilter::counted(std::int64_t key) const {
  if (admission_.kind == AdmissionKind::bloom) {
    std::int64_t least = admission_.uses;
    for (const std::int64_t counter : counters_of(key)) least = std::min(least, counters_[counter]);
    return least;
  }
  const auto count = counts_.find(key);
  return count == counts_.end() ? 0 : count->second;
}

std::vector<std::int64_t> KeyFilter::admit(const KeyUses& absent) {
  std::vector<std::int64_t> admitted;
  for (const auto& [key, uses] : absent) {
    if (admission_.kind == AdmissionKind::bloom)
      for (const std::int64_t counter : counters_of(key))
        counters_[counter] = add_saturated(counters_[counter], uses, admission_.uses);
    else
      counts_[key] = add_saturated(counts_[key], uses, admission_.uses);
  }
  for (const auto& [key, uses] : absent) {
    if (counted(key) < admission_.uses) continue;
    admitted.push_back(key);
    counts_.erase(key);
  }
  return admitted;
}

}  // namespace shardmark::reference
