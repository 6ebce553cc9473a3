// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "comm/placement/cost/machine_model.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {

inline constexpr double most_term_seconds = 3600.0, most_seconds_per_byte = 1.0;

/// Reads an object of a machine file, by its path.
class MachineObject {
 public:
  MachineObject(const nlohmann::ordered_json& json, std::string origin, std::string path)
      : json_(json), origin_(std::move(origin)), path_(std::move(path)) {
    if (!json.is_object()) fail("", "must be an object");
  }

  [[noreturn]] void fail(const std::string& key, const std::string& why) const {
    const std::string path = key.empty() ? path_.substr(0, path_.empty() ? 0 : path_.size() - 1) : path_ + key;
    throw InputError(fmt::format("{}: {}{}", origin_, path.empty() ? "" : fmt::format("\"{}\" ", path), why));
  }

  bool has(const std::string& key) const { return json_.contains(key); }

  const nlohmann::ordered_json& at(const std::string& key) const {
    if (!has(key)) fail(key, "is missing");
    return json_.at(key);
  }

  MachineObject object(const std::string& key) const { return {at(key), origin_, path_ + key + "."}; }

  template <class Value>
  Value text(const std::string& key) const {
    try {
      return at(key).get<Value>();
    } catch (const nlohmann::ordered_json::exception&) {
      fail(key, std::is_same_v<Value, bool> ? "must be true or false" : "must be a text");
    }
  }

  double number(const std::string& key) const { return number(key, at(key)); }
  double number(const std::string& key, const nlohmann::ordered_json& value) const {
    if (!value.is_number()) fail(key, fmt::format("must be a number, not {}", value.dump()));
    const auto number = value.get<double>();
    if (!std::isfinite(number) || number < 0.0) fail(key, fmt::format("must be a finite number >= 0, not {}", number));
    return number;
  }

  /// Reads a whole number from 1 to `most`.
  std::int64_t count(const std::string& key, double most) const {
    const double value = number(key);
    if (value < 1.0 || value > most || value != std::floor(value))
      fail(key, fmt::format("must be a whole number from 1 to {:.0f}, not {}", most, value));
    return static_cast<std::int64_t>(value);
  }

  /// Returns the objects of a list.
  std::vector<MachineObject> list(const std::string& key) const {
    if (!at(key).is_array()) fail(key, "must be a list");
    std::vector<MachineObject> objects;
    for (const nlohmann::ordered_json& each : at(key))
      objects.emplace_back(each, origin_, path_ + key + "[" + std::to_string(objects.size()) + "].");
    return objects;
  }

  /// Returns 0 where the file lacks the rate.
  double rate(const std::string& key) const {
    if (!has(key)) return 0.0;
    const double value = number(key);
    if (value <= 0.0) fail(key, fmt::format("must be above 0, not {}; leave it out where it is unknown", value));
    return value;
  }

  MessageCost points(const std::string& key) const {
    if (!has(key)) return {};
    if (!at(key).is_array() || at(key).empty()) fail(key, "must be a list of [bytes, seconds]");
    MessageCost cost;
    for (const nlohmann::ordered_json& pair : at(key)) {
      if (!pair.is_array() || pair.size() != 2)
        fail(key, fmt::format("must hold [bytes, seconds], not {}", pair.dump()));
      cost.points.push_back({number(key, pair[0]), number(key, pair[1])});
      check_last(key, cost);
    }
    return cost;
  }

  auto items() const { return json_.items(); }

  /// Throws InputError that names the first key which is none of `valid`.
  void require_keys(const std::vector<std::string_view>& valid) const {
    for (const auto& [key, value] : json_.items())
      if (std::ranges::find(valid, key) == valid.end())
        fail(key, "is no key here; " + suggestion(key, valid) + fmt::format("valid are {}", fmt::join(valid, ", ")));
  }

  /// Reads a share of something: above 0, at most 1.
  double share(const std::string& key) const { return share(key, at(key)); }
  double share(const std::string& key, const nlohmann::ordered_json& value) const {
    const double of_all = number(key, value);
    if (of_all <= 0.0 || of_all > 1.0) fail(key, fmt::format("must be a share above 0 and at most 1, not {}", of_all));
    return of_all;
  }

  /// Reads seconds; 0 where the file lacks them.
  double seconds(const std::string& key) const {
    const double value = has(key) ? number(key) : 0.0;
    if (value > most_term_seconds) fail(key, fmt::format("is {} seconds, more than an hour", value));
    return value;
  }

  /// Reads a list of texts, empty where the file lacks it.
  std::vector<std::string> texts(const std::string& key) const {
    if (!has(key)) return {};
    try {
      return at(key).get<std::vector<std::string>>();
    } catch (const nlohmann::ordered_json::exception&) {
      fail(key, "must be a list of texts");
    }
  }

  /// Reads a curve of [bytes, share] that ascends in bytes; empty where the file lacks it.
  std::vector<SizeShare> shares(const std::string& key) const {
    std::vector<SizeShare> curve;
    if (!has(key)) return curve;
    if (!at(key).is_array() || at(key).empty()) fail(key, "must be a list of [bytes, share]");
    for (const nlohmann::ordered_json& pair : at(key)) {
      if (!pair.is_array() || pair.size() != 2) fail(key, fmt::format("must hold [bytes, share], not {}", pair.dump()));
      const SizeShare point{number(key, pair[0]), share(key, pair[1])};
      if (!curve.empty() && point.bytes <= curve.back().bytes)
        fail(key, fmt::format("{} bytes come after {}; they must ascend", point.bytes, curve.back().bytes));
      curve.push_back(point);
    }
    return curve;
  }

  /// Reads such a curve of rows, which does not fall.
  std::vector<SizeShare> row_shares(const std::string& key) const {
    const auto curve = shares(key);
    for (std::size_t p = 1; p < curve.size(); ++p)
      if (curve[p].share < curve[p - 1].share)
        fail(key, fmt::format("falls from {} to {} at {} bytes; larger rows are no slower", curve[p - 1].share,
                              curve[p].share, curve[p].bytes));
    return curve;
  }

 private:
  void check_last(const std::string& key, const MessageCost& cost) const {
    const MessageCost::Point& last = cost.points.back();
    if (last.seconds > most_term_seconds) fail(key, fmt::format("{} seconds is no time of a message", last.seconds));
    if (cost.points.size() == 1) return;
    const MessageCost::Point& before = *(cost.points.end() - 2);
    if (last.bytes <= before.bytes)
      fail(key, fmt::format("{} bytes come after {}; they must ascend", last.bytes, before.bytes));
    if (last.seconds < before.seconds)
      fail(key, fmt::format("{} bytes take less time than {}", last.bytes, before.bytes));
    if (last.seconds - before.seconds > most_seconds_per_byte * (last.bytes - before.bytes))
      fail(key, fmt::format("takes more than a second per byte from {} bytes on", before.bytes));
  }

  const nlohmann::ordered_json& json_;
  std::string origin_, path_;
};

}  // namespace shardmark::placement
