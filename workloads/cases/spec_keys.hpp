// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/json.hpp"
#include "reference/number.hpp"
#include "reference/table.hpp"
#include "workloads/cases/published.hpp"
#include "workloads/cases/spec_key.hpp"

namespace shardmark::workloads::spec_keys {

using Json = nlohmann::ordered_json;

/// Maps the keys of a JSON object to members. A function keys_of(Keys&, T&, context...) names those of a struct once,
/// with what they are: for write(), for read() and for describe(). What is missing, of another type or unknown is a
/// SpecError.
class Keys {
 public:
  template <class T, class... Context>
  static Json write(T& value, const Context&... context) {
    Keys keys(Does::writes);
    keys_of(keys, value, context...);
    return keys.rest_;
  }

  /// Reads a struct. where: how errors begin.
  template <class T, class... Context>
  static void read(const Json& object, const std::string& where, T& value, const Context&... context) {
    read_at(object, where, "", value, context...);
  }

  /// Reads a struct from the text of a file. Throws InputError naming the file, the line and the column.
  template <class T>
  static void read_text(std::string_view text, const std::string& file, T& value) {
    const Json json = parse_json(text, file);
    try {
      read(json, file, value);
    } catch (const SpecError& error) {
      throw InputError(fmt::format("{}:{}{}", file, line_and_column(text, byte_of(text, error.pointer())),
                                   error.what() + file.size()));
    }
  }

  /// Returns the keys of a struct; `plain` has what its keys are without being given.
  template <class T, class... Context>
  static std::vector<SpecKey> describe(T plain, const Context&... context) {
    Keys keys(Does::describes);
    keys_of(keys, plain, context...);
    return keys.described_;
  }

  template <class T>
  void must(const std::string& key, T& member, std::string_view description, std::string_view unit = {}) {
    add(key, member, description, unit, true);
  }

  /// Leaves the member as it is when there is no such key.
  template <class T>
  void may(const std::string& key, T& member, std::string_view description, std::string_view unit = {}) {
    add(key, member, description, unit, false);
  }

  template <class T>
  void may(const std::string& key, std::optional<T>& member, std::string_view description, std::string_view unit = {}) {
    if (does_ == Does::describes || (reads() && rest_.contains(key))) member.emplace();
    if (!member) return known(key);
    add(key, *member, description, unit, false);
    if (does_ == Does::describes) described_.back().usual = nullptr;
  }

  /// Does what may() does, but writes only where the member differs from `usual`.
  template <class T>
  void unless(const T& usual, const std::string& key, T& member, std::string_view description,
              std::string_view unit = {}) {
    if (does_ != Does::writes || member != usual) may(key, member, description, unit);
  }

  /// Checks each number of a list.
  void at_least(std::int64_t least, const std::string& key, const std::vector<std::int64_t>& members) {
    if (does_ == Does::describes) described_.back().least = least;
    for (const std::int64_t member : members) at_least(least, key, member);
  }
  void at_least(std::int64_t least, const std::string& key, std::int64_t member) {
    if (does_ == Does::describes)
      described_.back().least = least;
    else if (member < least)
      fail(key, fmt::format("\"{}\" must be at least {}, got {}", key, least, member));
  }

  void not_negative(const std::string& key, double member) {
    if (does_ == Does::describes)
      described_.back().least = 0;
    else if (!(member >= 0.0))
      fail(key, fmt::format("\"{}\" must be at least 0, got {}", key, member));
  }

  void share(const std::string& key, double member) {
    if (does_ == Does::describes) {
      described_.back().least = 0;
      described_.back().most = 1;
    } else if (!(member >= 0.0 && member <= 1.0)) {
      fail(key, fmt::format("\"{}\" must be from 0 to 1, got {}", key, member));
    }
  }

  void within(std::int64_t least, std::int64_t most, const std::string& key, std::int64_t member) {
    at_least(least, key, member);
    if (does_ == Does::describes)
      described_.back().most = most;
    else if (member > most)
      fail(key, fmt::format("\"{}\" must be at most {}, got {}", key, most, member));
  }

  /// Takes of an enum's values those for which `valid` holds.
  template <HasChoices Enum>
  void among(bool (*valid)(Enum), const std::string& key, Enum member) {
    std::vector<std::string_view> names;
    for (const auto& choice : choices_of(member).table)
      if (valid(choice.value)) names.push_back(choice.name);
    if (does_ == Does::describes)
      described_.back().choices = names;
    else if (!valid(member))
      fail(key, fmt::format("\"{}\" must be one of {}, got {}", key, fmt::join(names, ", "), name_of(member)));
  }

  /// Reads or writes a list of structs; where they have no key they are like `usual`.
  template <class T, class... Context>
  void list(const std::string& key, std::vector<T>& members, const T& usual, std::string_view description,
            const Context&... context) {
    known(key);
    if (does_ == Does::describes) {
      described_.push_back({.name = key,
                            .description = description,
                            .type = SpecType::object,
                            .list = true,
                            .required = true,
                            .keys = describe(usual, context...)});
      return;
    }
    std::vector<Json> entries;
    if (does_ == Does::writes) {
      for (T& member : members) entries.push_back(write(member, context...));
      rest_[key] = entries;
      return;
    }
    if (!rest_.contains(key)) fail_missing(key);
    set(entries, key, rest_.at(key));
    rest_.erase(key);
    for (std::size_t i = members.size(); i < entries.size(); ++i)
      read_at(entries[i], fmt::format("{}: {}[{}]", where_, key, i), fmt::format("{}/{}/{}", pointer_, key, i),
              members.emplace_back(usual), context...);
  }

  /// Does what list() does, but leaves out an empty list.
  template <class T>
  void may_list(const std::string& key, std::vector<T>& members, std::string_view description) {
    known(key);
    if (does_ == Does::describes || (reads() ? rest_.contains(key) : !members.empty()))
      list(key, members, T{}, description);
    if (does_ == Does::describes) described_.back().required = false;
  }

  bool reads() const { return does_ == Does::reads; }
  const std::string& where() const { return where_; }

  [[noreturn]] void fail(const std::string& key, const std::string& why) const {
    throw SpecError(fmt::format("{}: {}", where_, why), fmt::format("{}/{}", pointer_, key));
  }

 private:
  enum class Does { writes, reads, describes };

  explicit Keys(Does does) : does_(does) {}

  template <class T>
  static constexpr bool is_struct = requires(Keys keys, T value) {
    keys_of(keys, value);
  };

  template <class T, class... Context>
  static void read_at(const Json& object, const std::string& where, const std::string& pointer, T& value,
                      const Context&... context) {
    Keys keys(Does::reads);
    keys.rest_ = object;
    keys.where_ = where;
    keys.pointer_ = pointer;
    if (!object.is_object()) throw SpecError(where + ": expected a JSON object", pointer);
    try {
      keys_of(keys, value, context...);
    } catch (const SpecError&) {
      throw;
    } catch (const InputError& error) {
      throw SpecError(error.what(), pointer);
    }
    if (!keys.rest_.empty()) keys.fail_unknown(keys.rest_.begin().key(), {keys.known_.begin(), keys.known_.end()});
  }

  [[noreturn]] void fail_unknown(const std::string& key, const std::vector<std::string_view>& valid) const {
    const std::string meant = suggestion(key, valid);
    fail(key, fmt::format("unknown key \"{}\"; {}", key,
                          meant.empty() ? fmt::format("valid: {}", fmt::join(valid, ", "))
                                        : meant.substr(0, meant.size() - 1)));
  }

  /// Reports a key that is missing; one that is there and was probably meant to be it is named instead.
  [[noreturn]] void fail_missing(const std::string& key) const {
    for (const auto& [other, value] : rest_.items())
      if (nearest_name(other, {key}) == key) fail_unknown(other, {key});
    throw SpecError(fmt::format("{}: key \"{}\" is missing", where_, key), pointer_);
  }

  void known(const std::string& key) { known_.push_back(key); }

  template <class T>
  void add(const std::string& key, T& member, std::string_view description, std::string_view unit, bool required) {
    known(key);
    if (does_ == Does::writes) {
      rest_[key] = json_of(member);
    } else if (does_ == Does::describes) {
      described_.push_back(described(key, member, description, unit, required));
    } else if (rest_.contains(key)) {
      set(member, key, rest_.at(key));
      rest_.erase(key);
    } else if (required) {
      fail_missing(key);
    }
  }

  /// Returns the type of what a T, or each of a list of them, is in JSON.
  template <class T>
  static constexpr SpecType type_of() {
    if constexpr (std::same_as<T, Json>)  // an entry of a list of objects
      return SpecType::object;
    else if constexpr (requires { typename T::value_type; } && !std::same_as<T, std::string>)
      return type_of<typename T::value_type>();
    else if constexpr (is_struct<T>)
      return SpecType::object;
    else if constexpr (std::same_as<T, bool>)
      return SpecType::truth;
    else if constexpr (std::integral<T>)
      return SpecType::whole;
    else
      return std::floating_point<T> ? SpecType::number : SpecType::text;
  }

  template <class T>
  static SpecKey described(const std::string& key, T& member, std::string_view description, std::string_view unit,
                           bool required) {
    SpecKey entry{.name = key, .description = description, .unit = unit, .type = type_of<T>(), .required = required};
    if constexpr (is_struct<T>) {
      entry.keys = describe(member);
    } else {
      entry.list = requires { typename T::value_type; }
      &&!std::same_as<T, std::string>;
      if (!required) entry.usual = json_of(member);
    }
    if constexpr (HasChoices<T>) {
      entry.what = choices_of(member).what;
      for (const auto& choice : choices_of(member).table) entry.choices.push_back(choice.name);
    }
    return entry;
  }

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
      read_at(json, where_ + ": " + key, fmt::format("{}/{}", pointer_, key), member);
    } else if constexpr (HasChoices<T>) {
      std::string name;
      set(name, key, json);
      try {
        member = named<T>(name);
      } catch (const InputError& error) {
        fail(key, error.what());
      }
    } else {
      try {
        if (!is_whole<T>(json)) throw Json::type_error::create(302, "not a whole number", &json);
        if (!is_in_range<T>(json)) fail(key, fmt::format("\"{}\" is too large or too small: {}", key, json.dump()));
        json.get_to(member);
      } catch (const Json::exception&) {
        fail(key, fmt::format("key \"{}\" has the wrong type: {} (wanted: {})", key, json.dump(),
                              described(key, member, "", "", true).type_text()));
      }
    }
  }

  Json rest_ = Json::object();  ///< what has been written, or is still to be read
  std::string where_, pointer_;
  Does does_;
  std::vector<std::string> known_;  ///< all keys of the object
  std::vector<SpecKey> described_;
};

/// Names the keys of a published step but that of its machine.
void keys_of_run(Keys& keys, PublishedStep& step);

}  // namespace shardmark::workloads::spec_keys
