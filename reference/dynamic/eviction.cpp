// SPDX-License-Identifier: Apache-2.0
#include "reference/dynamic/eviction.hpp"

#include <cmath>

#include "reference/error.hpp"
#include "reference/number.hpp"

namespace shardmark::reference {

Eviction eviction_named(std::string_view text, std::int64_t capacity) {
  const auto refuse = [&](const std::string& reason) {
    throw InputError("eviction '" + std::string(text) + "': " + reason + "; give none, idle:L, l2:T, lru or lfu");
  };
  const std::size_t colon = std::min(text.find(':'), text.size());
  Eviction eviction{.kind = named<EvictionKind>(text.substr(0, colon)), .capacity = capacity};
  if (eviction.expires() == (colon == text.size()))
    refuse(eviction.expires() ? "its threshold is missing" : "it takes no threshold");
  if (eviction.kind == EvictionKind::idle) {
    const auto steps = whole_number_in(text.substr(colon + 1));
    if (!steps || *steps < 0) refuse("L is a number of steps, from 0");
    eviction.threshold = static_cast<double>(*steps);
  }
  if (eviction.kind == EvictionKind::l2) {
    eviction.threshold = number_in<double>(text.substr(colon + 1)).value_or(0.0);
    if (!(eviction.threshold > 0.0) || std::isinf(eviction.threshold)) refuse("T is a norm above 0");
  }
  if (capacity == 0 && (eviction.kind == EvictionKind::lru || eviction.kind == EvictionKind::lfu))
    refuse("it needs a capacity");
  if (capacity != 0 && eviction.kind == EvictionKind::none) refuse("a capacity needs an eviction, such as lru");
  if (capacity != 0 && capacity < key_buckets)
    refuse("capacity " + std::to_string(capacity) + " is less than a row for each of " + std::to_string(key_buckets) +
           " buckets");
  return eviction;
}

}  // namespace shardmark::reference
