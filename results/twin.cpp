// SPDX-License-Identifier: Apache-2.0
#include "results/twin.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the time without its visits in the rounds before `round`.
StepTime from_round(const StepTime& time, std::int64_t round) {
  const auto before = std::min<std::int64_t>(round, std::ssize(time.visits));
  const auto samples = std::reduce(time.visits.begin(), time.visits.begin() + before);
  if (samples >= std::ssize(time.samples)) return {};
  return step_time({time.samples.begin() + samples, time.samples.end()},
                   {time.visits.begin() + before, time.visits.end()});
}

}  // namespace

Twin twin_of(const StepTime& first, StepTime again, std::int64_t first_round, std::int64_t comparisons) {
  Twin twin{.first_round = first_round, .again = std::move(again), .ratio = {}};
  const StepTime beside = from_round(first, first_round);
  if (beside.n == 0 || twin.again.n == 0) return twin;
  twin.ratio = time_ratio(twin.again, beside);
  const TimeRatio of_many = time_ratio(twin.again, beside, comparisons);
  if (const double smallest = smallest_shown(of_many); std::isfinite(smallest))
    twin.smallest_shown =
        twin.ratio.is_distinguishable() ? std::max({smallest, twin.ratio.high, 1.0 / twin.ratio.low}) : smallest;
  return twin;
}

Json to_json(const Twin& twin) {
  Json json{{"first_round", twin.first_round}, {"samples", twin.again.samples}, {"visits", twin.again.visits},
            {"rounds", twin.ratio.rounds},     {"ratio", twin.ratio.ratio},     {"low", twin.ratio.low},
            {"high", twin.ratio.high}};
  if (twin.smallest_shown > 0.0) json["smallest_shown"] = twin.smallest_shown;
  return json;
}

std::optional<Twin> twin_of(const Json& details) {
  const auto found = details.find(twin_field);
  if (found == details.end() || !found->is_object()) return std::nullopt;
  const auto number = [&](const char* name) {
    const auto value = found->find(name);
    return value != found->end() && value->is_number() ? value->get<double>() : 0.0;
  };
  return Twin{.first_round = static_cast<std::int64_t>(number("first_round")),
              .again = {},
              .ratio = {number("ratio"), number("low"), number("high"), static_cast<std::int64_t>(number("rounds"))},
              .smallest_shown = number("smallest_shown")};
}

}  // namespace shardmark::results
