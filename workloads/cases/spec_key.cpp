// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/spec_key.hpp"

#include <fmt/format.h>

#include <array>

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

struct TypeName {
  std::string_view singular, plural, of_schema;
};

/// Holds the names of each SpecType.
constexpr std::array type_names{
    TypeName{"text", "texts", "string"},     TypeName{"whole number", "whole numbers", "integer"},
    TypeName{"number", "numbers", "number"}, TypeName{"true or false", "true or false", "boolean"},
    TypeName{"object", "objects", "object"},
};

const TypeName& names_of(SpecType type) { return type_names[static_cast<std::size_t>(type)]; }

Json object_schema(const std::vector<SpecKey>& keys);

/// Describes a value, or each of a list.
Json value_schema(const SpecKey& key) {
  if (key.type == SpecType::object) return object_schema(key.keys);
  Json schema{{"type", names_of(key.type).of_schema}};
  if (!key.choices.empty()) schema["enum"] = key.choices;
  if (key.least) schema["minimum"] = *key.least;
  if (key.most) schema["maximum"] = *key.most;
  return schema;
}

Json object_schema(const std::vector<SpecKey>& keys) {
  Json schema{{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
  for (const SpecKey& key : keys) {
    Json property = key.list ? Json{{"type", "array"}, {"items", value_schema(key)}} : value_schema(key);
    property["description"] =
        fmt::format("{}{}", key.description, key.unit.empty() ? "" : fmt::format(" [{}]", key.unit));
    if (!key.usual.is_null()) property["default"] = key.usual;
    schema["properties"][key.name] = std::move(property);
    if (key.required) schema["required"].push_back(key.name);
  }
  schema["additionalProperties"] = false;
  return schema;
}

}  // namespace

std::string SpecKey::type_text() const {
  if (list) return fmt::format("list of {}", names_of(type).plural);
  return std::string(choices.empty() ? names_of(type).singular : "choice");
}

Json spec_schema() {
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"title", "Workload spec of shardmark"},
              {"description", "Tables, the features that read them, and a batch"}};
  schema.update(object_schema(described_spec()));
  return schema;
}

}  // namespace shardmark::workloads
