// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shardmark::placement {

/// What a planner can be told, in `shardmark list planners` and in its name: "memory_balanced:column_threshold=320".
struct PlannerSetting {
  std::string_view name;
  std::string_view usual;  ///< as text; empty: off
  std::string_view description;

  /// "merge=on"; where it is usually off "column_threshold=N".
  std::string spelled() const { return std::string(name) + '=' + std::string(usual.empty() ? "N" : usual); }
};

/// The settings of one planner, each as it was said or as usual. Getters throw InputError that names planner and
/// setting where the text is no such number or out of range.
class PlannerSettings {
 public:
  PlannerSettings() = default;
  /// text: "key=value:key=value". Throws InputError for a key that is not in `known`, printing those that are.
  PlannerSettings(std::string_view planner, std::string_view text, std::span<const PlannerSetting> known);

  std::string text(std::string_view name) const;
  double number(std::string_view name, double least = 0.0) const;
  std::int64_t whole(std::string_view name, std::int64_t least = 0) const;
  /// Absent when off: not said, and not usual.
  std::optional<std::int64_t> maybe_whole(std::string_view name, std::int64_t least = 0) const;
  /// Of a setting that is "on" or "off".
  bool on(std::string_view name) const;

 private:
  std::string planner_;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace shardmark::placement
