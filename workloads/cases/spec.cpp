// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "reference/json.hpp"
#include "reference/number.hpp"
#include "workloads/builtin_specs.hpp"

namespace shardmark {
namespace {

using Json = nlohmann::ordered_json;

/// The keys of a JSON object and the members that they stand for. A function keys_of(Keys&, T&, context...) names those
/// of a struct once, for write() and for read(). What is missing, of another type or unknown is an InputError.
class Keys {
 public:
  template <class T, class... Context>
  static Json write(T& value, const Context&... context) {
    Keys keys;
    keys_of(keys, value, context...);
    return keys.rest_;
  }

  /// where: how errors begin.
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

  void at_least(std::int64_t least, const std::string& key, std::int64_t member) const {
    if (member < least)
      throw InputError(fmt::format("{}: \"{}\" must be at least {}, got {}", where_, key, least, member));
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

  /// As may(), but written only where it differs from `usual`.
  template <class T>
  void unless(const T& usual, const std::string& key, T& member) {
    if (reads_ || member != usual) may(key, member);
  }

  /// The number of a table, which the object calls by its name.
  void table(const std::string& key, std::int64_t& number, const std::vector<Table>& tables) {
    std::string name = reads_ ? "" : tables[number].name;
    must(key, name);
    number = std::ranges::find(tables, name, &Table::name) - tables.begin();
    if (number == std::ssize(tables)) throw InputError(fmt::format("{}: no table is called \"{}\"", where_, name));
  }

  /// A list of structs; where they have no key they are like `usual`.
  template <class T, class Context>
  void list(const std::string& key, std::vector<T>& members, const T& usual, const Context& context) {
    std::vector<Json> entries;
    for (T& member : members) entries.push_back(write(member, context));
    must(key, entries);
    for (std::size_t i = members.size(); i < entries.size(); ++i)
      read(entries[i], fmt::format("{}: {}[{}]", where_, key, i), members.emplace_back(usual), context);
  }

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
        if (std::integral<T> && !std::same_as<T, bool> && !json.is_number_integer())
          throw Json::type_error::create(302, "not a whole number", &json);
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

void keys_of(Keys& keys, Optimizer& optimizer) {
  keys.must("name", optimizer.kind);
  keys.may("learning_rate", optimizer.learning_rate);
  keys.may("epsilon", optimizer.epsilon);
  keys.may("initial_accumulator", optimizer.initial_accumulator);
  keys.may("momentum", optimizer.momentum);
  keys.may("decay", optimizer.decay);
  keys.may("beta1", optimizer.beta1);
  keys.may("beta2", optimizer.beta2);
  keys.may("l1", optimizer.l1);
  keys.may("l2", optimizer.l2);
  keys.may("beta", optimizer.beta);
  keys.may("weight_decay", optimizer.weight_decay);
  keys.may("weight_decay_mode", optimizer.weight_decay_mode);
}

void keys_of(Keys& keys, IdSpec& ids) {
  keys.may("distribution", ids.distribution);
  keys.may("alpha", ids.alpha);
  keys.may("shuffled", ids.shuffled);
  keys.may("ragged", ids.ragged);
  keys.may("weighted", ids.weighted);
}

void keys_of(Keys& keys, PublishedRatio& published) {
  keys.must("fast", published.fast);
  keys.must("slow", published.slow);
  keys.must("ratio", published.ratio);
  keys.must("source", published.source);
}

void keys_of(Keys& keys, Table& table, const Optimizer& usual) {
  const Table plain;
  keys.must("name", table.name);
  keys.must("rows", table.rows);
  keys.at_least(1, "rows", table.rows);
  keys.must("dim", table.dim);
  keys.at_least(1, "dim", table.dim);
  keys.unless(usual, "optimizer", table.optimizer);
  keys.unless(plain.storage, "storage", table.storage);
  keys.unless(plain.value_type, "value_type", table.value_type);
  keys.unless(plain.stochastic_rounding, "stochastic_rounding", table.stochastic_rounding);
}

void keys_of(Keys& keys, Feature& feature, const std::vector<Table>& tables) {
  keys.must("name", feature.name);
  keys.table("table", feature.table, tables);
  keys.may("pooling", feature.pooling);
  keys.may("hotness", feature.hotness);
  keys.at_least(0, "hotness", feature.hotness);
}

void keys_of(Keys& keys, Workload& workload) {
  Table usual;
  if (!workload.tables.empty()) usual.optimizer = workload.tables.front().optimizer;
  keys.must("name", workload.name);
  keys.may("description", workload.description);
  keys.must("global_batch", workload.global_batch);
  keys.at_least(1, "global_batch", workload.global_batch);
  keys.must("optimizer", usual.optimizer);
  keys.may("ids", workload.ids);
  keys.may("plans", workload.plans);
  keys.may("replicate_rows", workload.replicate_rows);
  keys.may("scale", workload.scale);
  keys.at_least(1, "scale", workload.scale);
  keys.may("published", workload.published);
  keys.list("tables", workload.tables, usual, usual.optimizer);
  std::set<std::string_view> names;
  for (const Table& table : workload.tables)
    if (!names.insert(table.name).second)
      throw InputError(fmt::format("{}: two tables are called \"{}\"", keys.where(), table.name));
  keys.list("features", workload.features, {}, workload.tables);
  if (workload.features.empty()) throw InputError(keys.where() + ": there are no features");
}

Workload named_workload(const std::string& name_or_file) {
  if (!name_or_file.ends_with(".json")) {
    const auto& spec = choice_named(builtin_specs, "workload (or spec file ending in .json)", name_or_file);
    return workload_from_json(Json::parse(spec.text), "specs/" + name_or_file + ".json");
  }
  std::ifstream file(name_or_file);
  if (!file || std::filesystem::is_directory(name_or_file)) throw InputError(name_or_file + ": cannot be read");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return workload_from_json(parse_json(text, name_or_file), name_or_file);
}

}  // namespace

Json to_json(Optimizer optimizer) { return Keys::write(optimizer); }
Json to_json(PublishedRatio published) { return Keys::write(published); }
Json to_json(Workload workload) { return Keys::write(workload); }

Workload workload_from_json(const Json& json, const std::string& origin) {
  Workload workload;
  Keys::read(json, origin, workload);
  return workload;
}

std::vector<std::string> builtin_workloads() {
  std::vector<std::string> names;
  for (const auto& spec : builtin_specs) names.emplace_back(spec.name);
  return names;
}

std::vector<std::int64_t> rows_of_features(const Workload& workload) {
  std::vector<std::int64_t> rows;
  for (const Feature& feature : workload.features) rows.push_back(workload.tables[feature.table].rows);
  return rows;
}

void scale_rows(Workload& workload, std::int64_t divisor) {
  if (divisor > std::numeric_limits<std::int64_t>::max() / workload.scale)
    throw InputError(fmt::format("scale 1/{} of a workload at scale 1/{} is too small", divisor, workload.scale));
  for (auto& table : workload.tables) table.rows = (table.rows - 1) / divisor + 1;
  workload.scale *= divisor;
}

std::int64_t parse_scale(std::string_view text) {
  const auto divisor = number_in<std::int64_t>(text.starts_with("1/") ? text.substr(2) : text);
  if (!divisor || *divisor < 1) throw InputError(fmt::format("scale '{}' is not 1/N with N at least 1", text));
  return *divisor;
}

Workload load_workload(const std::string& name_or_file, std::string_view scale) {
  Workload workload = named_workload(name_or_file);
  scale_rows(workload, parse_scale(scale));
  return workload;
}

}  // namespace shardmark
