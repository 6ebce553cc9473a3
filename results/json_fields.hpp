// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/error.hpp"

namespace shardmark::results {

/// Reads a JSON object of a record: its members by name and type. Each function throws InputError that names the field
/// by its path.
class Fields {
 public:
  /// advice: what there is to do where a field is wrong.
  Fields(const nlohmann::ordered_json& json, std::string origin, std::string path = "",
         std::string_view advice = "measure again")
      : json_(json), origin_(std::move(origin)), path_(std::move(path)), advice_(advice) {
    if (!json_.is_object()) fail(path_.empty() ? "the record" : path_.substr(0, path_.size() - 1), "an object");
  }

  const nlohmann::ordered_json& at(const std::string& name) const {
    const auto member = json_.find(name);
    if (member == json_.end())
      throw InputError(fmt::format("{}: the record lacks '{}{}'; {}", origin_, path_, name, advice_));
    return *member;
  }

  Fields object(const std::string& name) const {
    std::string path = path_ + name + '.';
    std::ranges::replace_if(
        path, [](unsigned char c) { return c < ' '; }, '?');  // messages stay on one line
    return {at(name), origin_, std::move(path), advice_};
  }

  std::string text(const std::string& name) const {
    if (!at(name).is_string()) fail(path_ + name, "a text");
    return at(name).get<std::string>();
  }

  double number(const std::string& name) const { return number(at(name), path_ + name); }

  /// Returns nothing where the field is absent or null.
  std::optional<double> maybe_number(const std::string& name) const {
    const auto member = json_.find(name);
    if (member == json_.end() || member->is_null()) return std::nullopt;
    return number(*member, path_ + name);
  }

  std::vector<std::string> texts(const std::string& name) const {
    const nlohmann::ordered_json& values = at(name);
    if (!values.is_array() ||
        !std::ranges::all_of(values, [](const nlohmann::ordered_json& each) { return each.is_string(); }))
      fail(path_ + name, "an array of texts");
    return values.get<std::vector<std::string>>();
  }

  std::int64_t count(const std::string& name, std::int64_t least) const { return count(at(name), path_ + name, least); }

  /// Returns no values where the field is absent.
  std::vector<std::int64_t> counts(const std::string& name, std::int64_t least) const {
    std::vector<std::int64_t> values;
    if (!json_.contains(name)) return values;
    if (!at(name).is_array()) fail(path_ + name, "an array");
    for (const nlohmann::ordered_json& value : at(name)) values.push_back(count(value, path_ + name, least));
    return values;
  }

  std::vector<double> numbers(const std::string& name) const {
    if (!at(name).is_array()) fail(path_ + name, "an array");
    std::vector<double> values;
    for (const nlohmann::ordered_json& value : at(name)) values.push_back(number(value, path_ + name));
    return values;
  }

  [[noreturn]] void fail(const std::string& what, std::string_view expected) const {
    throw InputError(fmt::format("{}: {} is not {}; {}", origin_, what, expected, advice_));
  }

 private:
  std::int64_t count(const nlohmann::ordered_json& value, const std::string& what, std::int64_t least) const {
    // Beyond 2^63 the conversion wraps to a negative number, which is less than any `least`.
    if (!value.is_number_integer() || value.get<std::int64_t>() < least)
      fail(what, fmt::format("a whole number of at least {}", least));
    return value.get<std::int64_t>();
  }

  double number(const nlohmann::ordered_json& value, const std::string& what) const {
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0.0)
      fail(what, "a finite number of at least 0");
    return value.get<double>();
  }

  const nlohmann::ordered_json& json_;
  std::string origin_;
  std::string path_;
  std::string_view advice_;
};

}  // namespace shardmark::results
