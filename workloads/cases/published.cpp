// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/published.hpp"

#include <fmt/format.h>

#include <cmath>

namespace shardmark::workloads {

std::optional<PublishedRatio> published_ratio(std::span<const PublishedStep> steps) {
  for (std::size_t b = 1; b < steps.size(); ++b)
    for (std::size_t a = 0; a < b; ++a) {
      if (steps[a].machine != steps[b].machine || steps[a].ranks != steps[b].ranks || steps[a].plan == steps[b].plan)
        continue;
      const auto& [fast, slow] =
          steps[a].ms <= steps[b].ms ? std::pair(steps[a], steps[b]) : std::pair(steps[b], steps[a]);
      return PublishedRatio{fast.plan, slow.plan, std::round(1000.0 * slow.ms / fast.ms) / 1000.0,
                            fmt::format("{}: {} / {} ms", fast.source, slow.ms, fast.ms)};
    }
  return std::nullopt;
}

}  // namespace shardmark::workloads
