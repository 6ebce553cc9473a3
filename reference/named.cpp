// SPDX-License-Identifier: Apache-2.0
#include "reference/named.hpp"

#include <cctype>

namespace shardmark::reference {
namespace {

/// Folds a name to text that is the same for names that differ in case, '-' and '_' alone.
std::string folded(std::string_view name) {
  std::string text(name);
  for (char& letter : text)
    letter = letter == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

/// Counts the edits that make `a` of `b`, each of which inserts, removes or replaces a letter or swaps two neighbours;
/// no letter is edited twice. Row i of the table has the edits of the first i letters of `a` and each beginning of `b`.
std::size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
    }
  return table[a.size()][b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view name, const std::vector<std::string_view>& valid) {
  const std::string wanted = folded(name);
  std::string_view nearest;
  std::size_t least = wanted.size();  // so that of two or three letters at least one is right
  for (const std::string_view candidate : valid) {
    const std::string other = folded(candidate);
    const std::size_t limit = std::max<std::size_t>(1, std::max(wanted.size(), other.size()) / 3);
    const std::size_t distance = edits(wanted, other);
    if (distance > limit || distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  if (!nearest.empty()) return nearest;

  // Else one that holds the name, or that the name holds: the one with the fewest other letters.
  constexpr std::size_t shortest = 3;
  std::size_t fewest = std::string_view::npos;
  for (const std::string_view candidate : valid) {
    const std::string other = folded(candidate);
    const std::string &inner = wanted.size() < other.size() ? wanted : other,
                      &outer = wanted.size() < other.size() ? other : wanted;
    if (inner.size() < shortest || outer.find(inner) == outer.npos || outer.size() - inner.size() >= fewest) continue;
    fewest = outer.size() - inner.size();
    nearest = candidate;
  }
  return nearest;
}

std::string suggestion(std::string_view name, const std::vector<std::string_view>& valid) {
  const std::string_view nearest = nearest_name(name, valid);
  return nearest.empty() ? "" : "did you mean '" + std::string(nearest) + "'? ";
}

void throw_unknown(std::string_view what, std::string_view name, const std::vector<std::string_view>& valid) {
  std::string text =
      "unknown " + std::string(what) + " '" + std::string(name) + "'; " + suggestion(name, valid) + "valid: ";
  for (const std::string_view each : valid) text += (each == valid.front() ? "" : ", ") + std::string(each);
  throw InputError(text);
}

}  // namespace shardmark::reference
