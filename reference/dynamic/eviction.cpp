// SPDX-License-Identifier: Apache-2.0
#include "reference/dynamic/eviction.hpp"

#include <cmath>

#include "reference/error.hpp"
#include "reference/number.hpp"

namespace shardmark::reference {

namespace {

[[noreturn]] void refuse_eviction(std::string_view text, const std::string& reason) {
  throw InputError("eviction '" + std::string(text) + "': " + reason + "; give none, idle:L, l2:T, lru or lfu");
}

}  // namespace

Eviction eviction_named(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  Eviction eviction{.kind = named<EvictionKind>(text.substr(0, colon))};
  if (eviction.expires() == (colon == text.size()))
    refuse_eviction(text, eviction.expires() ? "its threshold is missing" : "it takes no threshold");
  if (eviction.kind == EvictionKind::idle) {
    const auto steps = whole_number_in(text.substr(colon + 1));
    if (!steps || *steps < 0) refuse_eviction(text, "L is a number of steps, from 0");
    eviction.threshold = static_cast<double>(*steps);
  }
  if (eviction.kind == EvictionKind::l2) {
    eviction.threshold = number_in<double>(text.substr(colon + 1)).value_or(0.0);
    if (!(eviction.threshold > 0.0) || std::isinf(eviction.threshold)) refuse_eviction(text, "T is a norm above 0");
  }
  return eviction;
}

std::string text_of(const Eviction& eviction) {
  std::string text(name_of(eviction.kind));
  return eviction.expires() ? text + ":" + text_of_number(eviction.threshold) : text;
}

void check_capacity(const Eviction& eviction) {
  const std::string text = text_of(eviction);
  const std::int64_t capacity = eviction.capacity;
  if (capacity == 0 && (eviction.kind == EvictionKind::lru || eviction.kind == EvictionKind::lfu))
    refuse_eviction(text, "it needs a capacity");
  if (capacity != 0 && eviction.kind == EvictionKind::none)
    refuse_eviction(text, "a capacity needs an eviction, such as lru");
  if (capacity != 0 && capacity < key_buckets)
    refuse_eviction(text, "capacity " + std::to_string(capacity) + " is less than a row for each of " +
                              std::to_string(key_buckets) + " buckets, the least that works");
}

Eviction eviction_named(std::string_view text, std::int64_t capacity) {
  Eviction eviction = eviction_named(text);
  eviction.capacity = capacity;
  check_capacity(eviction);
  return eviction;
}

}  // namespace shardmark::reference
