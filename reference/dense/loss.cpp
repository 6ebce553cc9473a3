// SPDX-License-Identifier: Apache-2.0
#include "reference/dense/loss.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "reference/error.hpp"

namespace shardmark::reference {
namespace {

void check(std::span<const float> scores, std::span<const float> labels) {
  if (scores.size() != labels.size())
    throw InputError("AUC: " + std::to_string(scores.size()) + " scores, " + std::to_string(labels.size()) + " labels");
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) throw InputError("AUC: the score of sample " + std::to_string(i) + " is no number");
    if (labels[i] != 0.0F && labels[i] != 1.0F)
      throw InputError("AUC: the label of sample " + std::to_string(i) + " is " + std::to_string(labels[i]) +
                       ", must be 0 or 1");
  }
}

}  // namespace

std::optional<double> area_under_curve(std::span<const float> scores, std::span<const float> labels) {
  check(scores, labels);
  std::vector<std::size_t> by_score(scores.size());
  std::iota(by_score.begin(), by_score.end(), std::size_t{0});
  std::ranges::sort(by_score, {}, [&](std::size_t i) { return scores[i]; });
  std::int64_t positives = 0, twice_ranks = 0;  // twice, for means of ranks are multiples of one half
  for (std::size_t first = 0, last = 0; first < by_score.size(); first = last) {
    std::int64_t tied = 0;
    for (; last < by_score.size() && scores[by_score[last]] == scores[by_score[first]]; ++last)
      tied += labels[by_score[last]] == 1.0F ? 1 : 0;
    positives += tied;
    twice_ranks += tied * static_cast<std::int64_t>(first + 1 + last);
  }
  const std::int64_t negatives = std::ssize(scores) - positives;
  if (positives == 0 || negatives == 0) return std::nullopt;
  return static_cast<double>(twice_ranks - positives * (positives + 1)) /
         (2.0 * static_cast<double>(positives) * static_cast<double>(negatives));
}

}  // namespace shardmark::reference
