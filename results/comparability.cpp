// SPDX-License-Identifier: Apache-2.0
#include "results/comparability.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace shardmark::results {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

const std::string* value_of(const std::string& key, const Pairs& pairs) {
  const auto found = std::ranges::find(pairs, key, [](const auto& pair) { return pair.first; });
  return found == pairs.end() ? nullptr : &found->second;
}

/// Makes one disagreement. `of_what`: nothing, or " of CASE".
Disagreement disagreement(const std::string& key, const std::string& of_what, const std::string& a, const Launch& in_a,
                          const std::string& b, const Launch& in_b) {
  std::string text = fmt::format("{}{} differs: '{}' in {}, '{}' in {}", key, of_what, a, in_a.file, b, in_b.file);
  std::ranges::replace(text, '\n', ' ');
  return {key, std::move(text)};
}

/// Adds the first disagreement with `first` of each key in which one of `launches` differs. pairs_in: of a launch, or
/// null where it has none.
template <class PairsIn>
void add_differing(const Launch& first, std::span<const Launch> launches, const std::string& of_what,
                   PairsIn&& pairs_in, std::vector<Disagreement>& found) {
  for (const auto& [key, value] : *pairs_in(first)) {
    if (!of_what.empty() && std::ranges::find(found, key, &Disagreement::key) != found.end()) continue;
    for (const Launch& launch : launches) {
      const Pairs* pairs = pairs_in(launch);
      const std::string* other = pairs ? value_of(key, *pairs) : nullptr;
      if (!other || *other == value) continue;
      found.push_back(disagreement(key, of_what, value, first, *other, launch));
      break;
    }
  }
}

void add_mixed_revisions(std::span<const Launch> launches, std::vector<Disagreement>& found) {
  const auto other = std::ranges::find_if(
      launches, [&](const Launch& launch) { return launch.revision != launches.front().revision; });
  if (other != launches.end())
    found.push_back(disagreement("revision", "", launches.front().revision, launches.front(), other->revision, *other));
}

}  // namespace

std::vector<Disagreement> disagreements(std::span<const Launch> old_launches, std::span<const Launch> new_launches,
                                        std::span<const Launch> aa_launches) {
  std::vector<Disagreement> found;
  for (const auto side : {old_launches, new_launches, aa_launches}) {
    const Launch& first = old_launches.front();
    add_differing(
        first, side, "", [](const Launch& launch) { return &launch.context; }, found);
    add_mixed_revisions(side, found);
    for (const LaunchedCase& each : first.cases)
      add_differing(
          first, side, " of " + each.name,
          [&](const Launch& launch) {
            const LaunchedCase* same = launch.find(each.name);
            return same ? &same->options : nullptr;
          },
          found);
  }
  return found;
}

}  // namespace shardmark::results
