// SPDX-License-Identifier: Apache-2.0
#include "reference/json.hpp"

#include <set>
#include <vector>

#include "reference/error.hpp"

namespace shardmark::reference {
namespace {

using Json = nlohmann::ordered_json;
constexpr int deepest = 32;

}  // namespace

Json parse_json(std::string_view text) {
  std::vector<std::set<std::string>> open_objects;  // their keys so far
  const auto refuse = [&](int depth, Json::parse_event_t event, const Json& value) {
    const bool opens = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && depth >= deepest) throw JsonError("JSON nested deeper than " + std::to_string(deepest) + " levels", 0);
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end) open_objects.pop_back();
    if (event == Json::parse_event_t::key && !open_objects.back().insert(value.get<std::string>()).second)
      throw JsonError("key " + value.dump() + " comes twice in one object", 0);
    return true;
  };
  try {
    return Json::parse(text, refuse);
  } catch (const Json::parse_error& error) {
    throw JsonError("not valid JSON", error.byte);
  } catch (const Json::exception&) {
    throw JsonError("a number is out of range", 0);
  }
}

Json parse_json(std::string_view text, std::string_view origin) {
  try {
    return parse_json(text);
  } catch (const JsonError& error) {
    const std::string place = error.byte() > 0 ? " at byte " + std::to_string(error.byte()) : "";
    throw InputError(std::string(origin) + ": " + error.what() + place);
  }
}

}  // namespace shardmark::reference
