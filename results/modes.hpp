// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>

namespace shardmark::results {

/// Describes times that gather around two values: their median describes neither.
struct Modes {
  double fast_ms = 0.0, slow_ms = 0.0;  ///< medians of the times on either side
  double slow_share = 0.0;              ///< of the times that belong to the slow mode, 0 to 1

  bool operator==(const Modes&) const = default;
};

/// Returns the two modes of the times, if they have two. It cuts the sorted logarithms where the variance between both
/// sides is largest (Otsu, 1979). Two modes are reported where each side holds five and a tenth of at least 20 times,
/// their medians lie 15 % and four times the spread of either side apart, and hardly any time (a tenth of the smaller
/// side) lies in the middle third between them.
std::optional<Modes> two_modes(std::span<const double> times_ms);

/// Names the field of a record, "modes", that holds {"fast_ms", "slow_ms", "slow_share"}.
inline constexpr char modes_field[] = "modes";
nlohmann::ordered_json to_json(const Modes& modes);
/// Reads the modes; nothing where a record's details have none, or none that can be read.
std::optional<Modes> modes_of(const nlohmann::ordered_json& details);

}  // namespace shardmark::results
