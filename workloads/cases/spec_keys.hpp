// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reference/number.hpp"
#include "reference/table.hpp"

namespace shardmark::workloads::spec_keys {

using Json = nlohmann::ordered_json;

/// Maps the keys of a JSON object to members. A function keys_of(Keys&, T&, context...) names those of a struct once,
/// for write() and for read(). What is missing, of another type or unknown is an InputError.
class Keys {
 public:
  template <class T, class... Context>
  static Json write(T& value, const Context&... context) {
    Keys keys;
    keys_of(keys, value, context...);
    return keys.rest_;
  }

  /// Reads a struct. where: how errors begin.
  template <class T, class... Context>
  static void read(const Json& object, const std::string& where, T& value, const Context&... context) {
    if (!object.is_object()) throw InputError(where + ": expected a JSON object");
    Keys keys;
    keys.rest_ = object;
    keys.where_ = where;
    keys.reads_ = true;
    keys_of(keys, value, context...);
    if (!keys.rest_.empty()) throw InputError(fmt::format("{}: unknown key \"{}\"", where, keys.rest_.begin().key()));
  }

  template <class T>
  void must(const std::string& key, T& member) {
    if (!reads_) {
      rest_[key] = json_of(member);
      return;
    }
    if (!rest_.contains(key)) throw InputError(fmt::format("{}: key \"{}\" is missing", where_, key));
    set(member, key, rest_.at(key));
    rest_.erase(key);
  }

  /// Checks each number of a list.
  void at_least(std::int64_t least, const std::string& key, const std::vector<std::int64_t>& members) const {
    for (const std::int64_t member : members) at_least(least, key, member);
  }
  void at_least(std::int64_t least, const std::string& key, std::int64_t member) const {
    if (member < least)
      throw InputError(fmt::format("{}: \"{}\" must be at least {}, got {}", where_, key, least, member));
  }

  void not_negative(const std::string& key, double member) const {
    if (!(member >= 0.0)) throw InputError(fmt::format("{}: \"{}\" must be at least 0, got {}", where_, key, member));
  }

  /// Does what may() does, for a number that is not negative.
  template <class T>
  void may_not_negative(const std::string& key, T& member) {
    may(key, member);
    not_negative(key, member);
  }

  void within(std::int64_t least, std::int64_t most, const std::string& key, std::int64_t member) const {
    at_least(least, key, member);
    if (member > most)
      throw InputError(fmt::format("{}: \"{}\" must be at most {}, got {}", where_, key, most, member));
  }

  /// Leaves the member as it is when there is no such key.
  template <class T>
  void may(const std::string& key, T& member) {
    if (!reads_ || rest_.contains(key)) must(key, member);
  }

  template <class T>
  void may(const std::string& key, std::optional<T>& member) {
    if (reads_ && rest_.contains(key)) member.emplace();
    if (member) must(key, *member);
  }

  /// Does what may() does, but writes only where the member differs from `usual`.
  template <class T>
  void unless(const T& usual, const std::string& key, T& member) {
    if (reads_ || member != usual) may(key, member);
  }

  /// Reads or writes a list of structs; where they have no key they are like `usual`.
  template <class T, class... Context>
  void list(const std::string& key, std::vector<T>& members, const T& usual, const Context&... context) {
    std::vector<Json> entries;
    for (T& member : members) entries.push_back(write(member, context...));
    must(key, entries);
    for (std::size_t i = members.size(); i < entries.size(); ++i)
      read(entries[i], fmt::format("{}: {}[{}]", where_, key, i), members.emplace_back(usual), context...);
  }

  /// Does what list() does, but leaves out an empty list.
  template <class T>
  void may_list(const std::string& key, std::vector<T>& members) {
    if (reads_ ? rest_.contains(key) : !members.empty()) list(key, members, T{});
  }

  bool reads() const { return reads_; }
  const std::string& where() const { return where_; }

 private:
  template <class T>
  static constexpr bool is_struct = requires(Keys keys, T value) {
    keys_of(keys, value);
  };

  template <class T>
  static Json json_of(T& value) {
    if constexpr (is_struct<T>)
      return write(value);
    else if constexpr (HasChoices<T>)
      return name_of(value);
    else if constexpr (std::same_as<T, float>)
      return shortest_decimal(value);
    else
      return value;
  }

  /// Returns whether numbers are whole where T takes whole ones, single or in a list: the library would cut fractions
  /// off.
  template <class T>
  static bool is_whole(const Json& json) {
    if constexpr (std::same_as<T, std::vector<std::int64_t>>)
      return json.is_array() && std::ranges::all_of(json, &Json::is_number_integer);
    else
      return !std::integral<T> || std::same_as<T, bool> || json.is_number_integer();
  }

  /// Returns whether whole numbers, single or in a list, are in the range of T: the library would wrap them.
  template <class T>
  static bool is_in_range(const Json& json) {
    if constexpr (std::same_as<T, std::vector<std::int64_t>>) {
      return std::ranges::all_of(json, [](const Json& each) { return is_in_range<std::int64_t>(each); });
    } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
      return json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                       : std::in_range<T>(json.get<std::int64_t>());
    } else {
      return true;
    }
  }

  template <class T>
  void set(T& member, const std::string& key, const Json& json) const {
    if constexpr (is_struct<T>) {
      read(json, where_ + ": " + key, member);
    } else if constexpr (HasChoices<T>) {
      std::string name;
      set(name, key, json);
      try {
        member = named<T>(name);
      } catch (const InputError& error) {
        throw InputError(where_ + ": " + error.what());
      }
    } else {
      try {
        if (!is_whole<T>(json)) throw Json::type_error::create(302, "not a whole number", &json);
        if (!is_in_range<T>(json))
          throw InputError(fmt::format("{}: \"{}\" is too large or too small: {}", where_, key, json.dump()));
        json.get_to(member);
      } catch (const Json::exception&) {
        throw InputError(fmt::format("{}: key \"{}\" has the wrong type: {}", where_, key, json.dump()));
      }
    }
  }

  Json rest_ = Json::object();  ///< what has been written, or is still to be read
  std::string where_;
  bool reads_ = false;
};

}  // namespace shardmark::workloads::spec_keys
