// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/spec.hpp"

#include <fmt/format.h>

#include <concepts>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "workloads/builtin_specs.hpp"

namespace shardmark {
namespace {

using Json = nlohmann::ordered_json;

/// Reads the keys of one JSON object; what is missing, of another type or unknown is an InputError that says where.
class Keys {
 public:
  Keys(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) throw InputError(where_ + ": expected a JSON object");
  }

  template <class T>
  T get(const std::string& key) {
    if (!object_.contains(key)) throw InputError(fmt::format("{}: key \"{}\" is missing", where_, key));
    read_.insert(key);
    try {
      if (std::integral<T> && !std::same_as<T, bool> && !object_.at(key).is_number_integer())
        throw Json::type_error::create(302, "not a whole number", &object_);
      return object_.at(key).get<T>();
    } catch (const Json::exception&) {
      throw InputError(fmt::format("{}: key \"{}\" has the wrong type: {}", where_, key, object_.at(key).dump()));
    }
  }

  template <class T>
  T get_or(const std::string& key, T otherwise) {
    return object_.contains(key) ? get<T>(key) : otherwise;
  }

  /// The value of the enum that the key names.
  template <HasChoices Enum>
  Enum choice(const std::string& key) {
    try {
      return named<Enum>(get<std::string>(key));
    } catch (const InputError& error) {
      throw InputError(where_ + ": " + error.what());
    }
  }

  template <HasChoices Enum>
  Enum choice_or(const std::string& key, Enum otherwise) {
    return object_.contains(key) ? choice<Enum>(key) : otherwise;
  }

  std::int64_t get_positive(const std::string& key) {
    const auto value = get<std::int64_t>(key);
    if (value < 1) throw InputError(fmt::format("{}: \"{}\" must be at least 1, got {}", where_, key, value));
    return value;
  }

  void refuse_others() const {
    for (const auto& item : object_.items())
      if (!read_.contains(item.key())) throw InputError(fmt::format("{}: unknown key \"{}\"", where_, item.key()));
  }

 private:
  const Json& object_;
  std::string where_;
  std::set<std::string> read_;
};

/// Keys of an optimizer's numbers.
const std::vector<std::pair<std::string, float Optimizer::*>> hyperparameters{
    {"learning_rate", &Optimizer::learning_rate},
    {"epsilon", &Optimizer::epsilon},
    {"initial_accumulator", &Optimizer::initial_accumulator},
    {"momentum", &Optimizer::momentum},
    {"decay", &Optimizer::decay},
    {"beta1", &Optimizer::beta1},
    {"beta2", &Optimizer::beta2},
    {"l1", &Optimizer::l1},
    {"l2", &Optimizer::l2},
    {"beta", &Optimizer::beta},
    {"weight_decay", &Optimizer::weight_decay},
};

Optimizer optimizer_from(const Json& json, const std::string& where) {
  Keys keys(json, where);
  Optimizer optimizer;
  optimizer.kind = keys.choice<OptimizerKind>("name");
  for (const auto& [key, member] : hyperparameters) optimizer.*member = keys.get_or(key, optimizer.*member);
  optimizer.weight_decay_mode = keys.choice_or("weight_decay_mode", optimizer.weight_decay_mode);
  keys.refuse_others();
  return optimizer;
}

IdSpec ids_from(const Json& json, const std::string& where) {
  Keys keys(json, where);
  IdSpec ids;
  ids.distribution = keys.choice_or("distribution", ids.distribution);
  ids.alpha = keys.get_or("alpha", ids.alpha);
  ids.shuffled = keys.get_or("shuffled", ids.shuffled);
  ids.ragged = keys.get_or("ragged", ids.ragged);
  ids.weighted = keys.get_or("weighted", ids.weighted);
  keys.refuse_others();
  return ids;
}

PublishedRatio published_from(const Json& json, const std::string& where) {
  Keys keys(json, where);
  PublishedRatio published{.fast = keys.get<std::string>("fast"),
                           .slow = keys.get<std::string>("slow"),
                           .ratio = keys.get<double>("ratio"),
                           .source = keys.get<std::string>("source")};
  keys.refuse_others();
  return published;
}

Table table_from(const Json& json, const Optimizer& optimizer, const std::string& where) {
  Keys keys(json, where);
  Table table{.name = keys.get<std::string>("name"),
              .rows = keys.get_positive("rows"),
              .dim = keys.get_positive("dim"),
              .optimizer = optimizer};
  if (json.contains("optimizer")) table.optimizer = optimizer_from(keys.get<Json>("optimizer"), where + ".optimizer");
  table.storage = keys.choice_or("storage", table.storage);
  table.value_type = keys.choice_or("value_type", table.value_type);
  table.stochastic_rounding = keys.get_or("stochastic_rounding", false);
  keys.refuse_others();
  return table;
}

Feature feature_from(const Json& json, const std::map<std::string, std::int64_t>& table_number,
                     const std::string& where) {
  Keys keys(json, where);
  const auto table = table_number.find(keys.get<std::string>("table"));
  if (table == table_number.end())
    throw InputError(fmt::format("{}: no table is called \"{}\"", where, keys.get<std::string>("table")));
  Feature feature{.name = keys.get<std::string>("name"),
                  .table = table->second,
                  .pooling = keys.choice_or("pooling", Pooling::sum),
                  .hotness = keys.get_or<std::int64_t>("hotness", 1)};
  if (feature.hotness < 0) throw InputError(fmt::format("{}: hotness {} is negative", where, feature.hotness));
  keys.refuse_others();
  return feature;
}

/// The shortest decimal that reads back as the same float: 0.01, not 0.009999999776482582.
double shortest(float value) { return std::stod(fmt::format("{}", value)); }

}  // namespace

Json to_json(const Optimizer& optimizer) {
  Json json{{"name", name_of(optimizer.kind)}};
  for (const auto& [key, member] : hyperparameters) json[key] = shortest(optimizer.*member);
  json["weight_decay_mode"] = name_of(optimizer.weight_decay_mode);
  return json;
}

Workload workload_from_json(const Json& json, const std::string& origin) {
  Keys keys(json, origin);
  Workload workload;
  workload.name = keys.get<std::string>("name");
  workload.description = keys.get_or<std::string>("description", "");
  workload.global_batch = keys.get_positive("global_batch");
  const auto optimizer = optimizer_from(keys.get<Json>("optimizer"), origin + ": optimizer");
  workload.ids = ids_from(keys.get_or<Json>("ids", Json::object()), origin + ": ids");
  workload.plans = keys.get_or<std::vector<std::string>>("plans", {});
  workload.replicate_rows = keys.get_or<std::int64_t>("replicate_rows", workload.replicate_rows);
  workload.scale = keys.get_or<std::int64_t>("scale", 1);
  if (json.contains("published"))
    workload.published = published_from(keys.get<Json>("published"), origin + ": published");

  std::map<std::string, std::int64_t> table_number;
  for (const auto& table : keys.get<std::vector<Json>>("tables")) {
    workload.tables.push_back(
        table_from(table, optimizer, fmt::format("{}: tables[{}]", origin, workload.tables.size())));
    const auto& name = workload.tables.back().name;
    if (!table_number.emplace(name, std::ssize(workload.tables) - 1).second)
      throw InputError(fmt::format("{}: two tables are called \"{}\"", origin, name));
  }
  for (const auto& feature : keys.get<std::vector<Json>>("features"))
    workload.features.push_back(
        feature_from(feature, table_number, fmt::format("{}: features[{}]", origin, workload.features.size())));
  keys.refuse_others();
  if (workload.features.empty()) throw InputError(origin + ": there are no features");
  return workload;
}

Json to_json(const PublishedRatio& published) {
  return {{"fast", published.fast}, {"slow", published.slow}, {"ratio", published.ratio}, {"source", published.source}};
}

Json to_json(const Workload& workload) {
  Json json{{"name", workload.name}, {"description", workload.description}, {"global_batch", workload.global_batch}};
  json["optimizer"] = to_json(workload.tables.front().optimizer);
  json["ids"] = {{"distribution", name_of(workload.ids.distribution)},
                 {"alpha", workload.ids.alpha},
                 {"shuffled", workload.ids.shuffled},
                 {"ragged", workload.ids.ragged},
                 {"weighted", workload.ids.weighted}};
  json["plans"] = workload.plans;
  json["replicate_rows"] = workload.replicate_rows;
  json["scale"] = workload.scale;
  if (workload.published) json["published"] = to_json(*workload.published);
  for (const auto& table : workload.tables) {
    Json entry{{"name", table.name}, {"rows", table.rows}, {"dim", table.dim}};
    if (table.optimizer != workload.tables.front().optimizer) entry["optimizer"] = to_json(table.optimizer);
    if (table.storage != Storage::dense) entry["storage"] = name_of(table.storage);
    if (table.value_type != ValueType::fp32) entry["value_type"] = name_of(table.value_type);
    if (table.stochastic_rounding) entry["stochastic_rounding"] = true;
    json["tables"].push_back(entry);
  }
  for (const auto& feature : workload.features)
    json["features"].push_back({{"name", feature.name},
                                {"table", workload.tables[feature.table].name},
                                {"pooling", name_of(feature.pooling)},
                                {"hotness", feature.hotness}});
  return json;
}

std::vector<std::string> builtin_workloads() {
  std::vector<std::string> names;
  for (const auto& spec : builtin_specs) names.emplace_back(spec.name);
  return names;
}

namespace {

Json parse(std::istream& text, const std::string& origin) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw InputError(fmt::format("{}: not valid JSON at byte {}", origin, error.byte));
  }
}

}  // namespace

Workload load_workload(const std::string& name_or_file) {
  if (!name_or_file.ends_with(".json")) {
    const auto& spec = choice_named(builtin_specs, "workload (or spec file ending in .json)", name_or_file);
    return workload_from_json(Json::parse(spec.text), "specs/" + name_or_file + ".json");
  }
  std::ifstream file(name_or_file);
  if (!file || std::filesystem::is_directory(name_or_file)) throw InputError(name_or_file + ": cannot be read");
  return workload_from_json(parse(file, name_or_file), name_or_file);
}

void scale_rows(Workload& workload, std::int64_t divisor) {
  for (auto& table : workload.tables) table.rows = (table.rows + divisor - 1) / divisor;
  workload.scale *= divisor;
}

std::int64_t parse_scale(const std::string& text) {
  const std::string digits = text.starts_with("1/") ? text.substr(2) : text;
  std::size_t used = 0;
  std::int64_t divisor = 0;
  try {
    divisor = std::stoll(digits, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != digits.size() || divisor < 1)
    throw InputError(fmt::format("scale '{}' is not 1/N with N at least 1", text));
  return divisor;
}

}  // namespace shardmark
