// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/exchange_ratios.hpp"

#include <algorithm>

namespace shardmark::placement {
namespace {

constexpr double good_enough = 0.95;  // of MPI_Alltoallv's time
constexpr double beyond = 4.0;        // times the largest measured size

}  // namespace

std::optional<std::size_t> ExchangeRatios::best(double bytes, bool skewed, const std::vector<bool>& allowed) const {
  const Cell* below = nullptr;
  const Cell* above = nullptr;
  for (const Cell& cell : cells) {
    if (cell.skewed != skewed) continue;
    const auto size = static_cast<double>(cell.bytes);
    if (size <= bytes && (below == nullptr || cell.bytes > below->bytes)) below = &cell;
    if (size >= bytes && (above == nullptr || cell.bytes < above->bytes)) above = &cell;
  }
  if (above == nullptr && (below == nullptr || bytes > beyond * static_cast<double>(below->bytes))) return std::nullopt;
  if (above == nullptr) above = below;
  if (below == nullptr) below = above;
  std::optional<std::size_t> best;
  double least = good_enough;
  for (std::size_t e = 0; e < exchanges.size(); ++e) {
    const double ratio = std::max(below->ratios[e], above->ratios[e]);
    if (!allowed[e] || ratio >= least) continue;
    least = ratio;
    best = e;
  }
  return best;
}

}  // namespace shardmark::placement
