// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shardmark::placement {

/// Describes a setting of a planner, in `shardmark list planners` and in its name:
/// "memory_balanced:column_threshold=320".
struct PlannerSetting {
  std::string_view name;
  std::string_view usual;  ///< as text; empty: off
  std::string_view description;

  /// Returns "merge=on", or "column_threshold=N" for a setting that is usually off.
  std::string spelled() const { return std::string(name) + '=' + std::string(usual.empty() ? "N" : usual); }
};

/// Holds the settings of one planner, each as the user gave it or as usual. Getters throw InputError that names planner
/// and setting where the text is no such number or out of range.
class PlannerSettings {
 public:
  PlannerSettings() = default;
  /// Parses text, "key=value:key=value". Throws InputError for a key that is not in `known`, printing those that are.
  PlannerSettings(std::string_view planner, std::string_view text, std::span<const PlannerSetting> known);

  std::string text(std::string_view name) const;
  double number(std::string_view name, double least = 0.0) const;
  std::int64_t whole(std::string_view name, std::int64_t least = 0) const;
  /// Returns nothing when the setting is off: neither given nor usual.
  std::optional<std::int64_t> maybe_whole(std::string_view name, std::int64_t least = 0) const;
  /// Returns whether a setting that is "on" or "off" is on.
  bool on(std::string_view name) const;

 private:
  std::string planner_;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace shardmark::placement
