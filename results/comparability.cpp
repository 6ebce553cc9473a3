// SPDX-License-Identifier: Apache-2.0
#include "results/comparability.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace shardmark {
namespace {

Disagreement disagreement(const std::string& key, const std::string& a, const Launch& in_a, const std::string& b,
                          const Launch& in_b) {
  std::string text = fmt::format("{} differs: '{}' in {}, '{}' in {}", key, a, in_a.file, b, in_b.file);
  std::ranges::replace(text, '\n', ' ');
  return {key, std::move(text)};
}

/// Adds the first disagreement with `first` of each key in which one of `launches` differs.
void add_differing_context(const Launch& first, std::span<const Launch> launches, std::vector<Disagreement>& found) {
  for (const auto& [key, value] : first.context) {
    const auto value_in = [&](const Launch& launch) {
      const auto other = std::ranges::find(launch.context, key, [](const auto& pair) { return pair.first; });
      return other == launch.context.end() ? value : other->second;
    };
    const auto other = std::ranges::find_if(launches, [&](const Launch& each) { return value_in(each) != value; });
    if (other != launches.end()) found.push_back(disagreement(key, value, first, value_in(*other), *other));
  }
}

void add_mixed_revisions(std::span<const Launch> launches, std::vector<Disagreement>& found) {
  const auto other = std::ranges::find_if(
      launches, [&](const Launch& launch) { return launch.revision != launches.front().revision; });
  if (other != launches.end())
    found.push_back(disagreement("revision", launches.front().revision, launches.front(), other->revision, *other));
}

}  // namespace

std::vector<Disagreement> disagreements(std::span<const Launch> old_launches, std::span<const Launch> new_launches,
                                        std::span<const Launch> aa_launches) {
  std::vector<Disagreement> found;
  for (const auto side : {old_launches, new_launches, aa_launches}) {
    add_differing_context(old_launches.front(), side, found);
    add_mixed_revisions(side, found);
  }
  return found;
}

}  // namespace shardmark
