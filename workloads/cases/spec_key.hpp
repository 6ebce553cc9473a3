// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/error.hpp"

namespace shardmark::workloads {

/// Reports what is wrong in a spec, and where: pointer() is the JSON pointer of a key or an entry, "/tables/3/rows".
class SpecError : public InputError {
 public:
  SpecError(const std::string& what, std::string pointer) : InputError(what), pointer_(std::move(pointer)) {}
  const std::string& pointer() const { return pointer_; }

 private:
  std::string pointer_;
};

/// Names the JSON types of values; a list's is that of its elements.
enum class SpecType { text, whole, number, truth, object };

/// Describes a key of a spec, as its reader does (spec_keys.hpp).
struct SpecKey {
  std::string name;
  std::string_view description;
  std::string_view unit = {};  ///< empty: none
  SpecType type = SpecType::text;
  bool list = false, required = false;
  nlohmann::ordered_json usual = {};           ///< value without the key; null: none, or that of the object's own keys
  std::string_view what = {};                  ///< what the choices are: "value type"
  std::vector<std::string_view> choices = {};  ///< empty: any value of the type
  std::optional<std::int64_t> least = {}, most = {};
  std::vector<SpecKey> keys = {};  ///< of an object, or of each object of a list

  /// Returns the type in words: "whole number", "list of texts".
  std::string type_text() const;
};

/// Returns the keys of a spec, in the order in which they are read.
std::vector<SpecKey> described_spec();

/// Returns a JSON schema (2020-12) of specs: keys, types, choices and bounds. What depends on several keys is left to
/// the reader.
nlohmann::ordered_json spec_schema();

}  // namespace shardmark::workloads
