// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/machine_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "comm/placement/builtin_machines.hpp"
#include "comm/placement/exchange_shapes.hpp"
#include "reference/json.hpp"

namespace shardmark::placement {
namespace {

using Json = nlohmann::ordered_json;

constexpr double most_term_seconds = 3600.0, most_seconds_per_byte = 1.0;
constexpr double most_ranks = 1e6, most_bytes = 0x1p40;  ///< of a node or job; from rank to rank

Json points_json(const MessageCost& message) {
  Json points = Json::array();
  for (const auto& [bytes, seconds] : message.points) points.push_back({bytes, seconds});
  return points;
}

Json exchange_json(const ExchangeCost& exchange) {
  Json json = Json::object();
  if (!exchange.inside.points.empty()) json["inside"] = points_json(exchange.inside);
  if (!exchange.between.points.empty()) json["between"] = points_json(exchange.between);
  return json;
}

/// Reads an object of a machine file, by its path.
class MachineObject {
 public:
  MachineObject(const Json& json, std::string origin, std::string path)
      : json_(json), origin_(std::move(origin)), path_(std::move(path)) {
    if (!json.is_object()) fail("", "must be an object");
  }

  [[noreturn]] void fail(const std::string& key, const std::string& why) const {
    const std::string path = key.empty() ? path_.substr(0, path_.empty() ? 0 : path_.size() - 1) : path_ + key;
    throw InputError(fmt::format("{}: {}{}", origin_, path.empty() ? "" : fmt::format("\"{}\" ", path), why));
  }

  bool has(const std::string& key) const { return json_.contains(key); }

  const Json& at(const std::string& key) const {
    if (!has(key)) fail(key, "is missing");
    return json_.at(key);
  }

  MachineObject object(const std::string& key) const { return {at(key), origin_, path_ + key + "."}; }

  template <class Value>
  Value text(const std::string& key) const {
    try {
      return at(key).get<Value>();
    } catch (const Json::exception&) {
      fail(key, std::is_same_v<Value, bool> ? "must be true or false" : "must be a text");
    }
  }

  double number(const std::string& key) const { return number(key, at(key)); }
  double number(const std::string& key, const Json& value) const {
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
    for (const Json& each : at(key))
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
    for (const Json& pair : at(key)) {
      if (!pair.is_array() || pair.size() != 2)
        fail(key, fmt::format("must hold [bytes, seconds], not {}", pair.dump()));
      cost.points.push_back({number(key, pair[0]), number(key, pair[1])});
      check_last(key, cost);
    }
    return cost;
  }

  auto items() const { return json_.items(); }

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

  const Json& json_;
  std::string origin_, path_;
};

void read_terms(const MachineObject& seconds, MachineModel& machine) {
  for (const auto& [name, value] : seconds.items()) {
    std::vector<std::string_view> valid;
    for (const TermChoice& term : terms) valid.push_back(term.name);
    if (std::ranges::find(valid, name) == valid.end())
      seconds.fail(name,
                   "is no term; " + suggestion(name, valid) + fmt::format("they are listed by shardmark list terms"));
  }
  for (std::size_t t = 0; t < terms.size(); ++t) {
    machine.seconds[t] = seconds.number(std::string(terms[t].name));
    if (machine.seconds[t] > most_term_seconds)
      seconds.fail(std::string(terms[t].name), fmt::format("is {} seconds, more than an hour", machine.seconds[t]));
  }
}

void read_weights(const MachineObject& weights, MachineModel& machine) {
  for (const auto& [name, value] : weights.items()) {
    if (std::ranges::find(optimizers, name, &OptimizerChoice::name) == optimizers.end())
      weights.fail(name, "is no optimizer (shardmark list optimizers)");
    machine.optimizer_weights[name] = weights.number(name);
  }
}

void read_messages(const MachineObject& top, MachineModel& machine) {
  const MachineObject exchanges = top.object("exchanges");
  for (const auto& [name, value] : exchanges.items()) {
    const MachineObject exchange = exchanges.object(name);
    machine.exchanges[name] = {exchange.points("inside"), exchange.points("between")};
  }
  const bool of_one_rank = machine.measured && machine.exchanges.empty();
  if (!of_one_rank && !machine.exchanges.contains(library_exchange))
    exchanges.fail(std::string(library_exchange), "is missing");
  if (!top.has("all_reduce")) return;
  machine.all_reduce_inside = top.object("all_reduce").points("inside");
  machine.all_reduce_between = top.object("all_reduce").points("between");
}

Json ratios_json(const ExchangeRatios& ratios) {
  Json cells = Json::array();
  for (const ExchangeRatios::Cell& cell : ratios.cells) {
    Json of_cell;
    for (std::size_t e = 0; e < ratios.exchanges.size(); ++e) of_cell[ratios.exchanges[e]] = cell.ratios[e];
    cells.push_back({{"bytes_per_pair", cell.bytes}, {"skewed", cell.skewed}, {"vs_mpi_alltoallv", of_cell}});
  }
  return {{"ranks", ratios.ranks}, {"nodes", ratios.nodes}, {"cells", cells}};
}

ExchangeRatios read_ratios(const MachineObject& top) {
  ExchangeRatios ratios{.ranks = static_cast<int>(top.count("ranks", most_ranks)),
                        .nodes = static_cast<int>(top.count("nodes", most_ranks)),
                        .exchanges = {},
                        .cells = {}};
  for (const MachineObject& each : top.list("cells")) {
    ExchangeRatios::Cell cell{each.count("bytes_per_pair", most_bytes), each.text<bool>("skewed"), {}};
    const MachineObject of_cell = each.object("vs_mpi_alltoallv");
    std::vector<std::string> names;
    for (const auto& [name, value] : of_cell.items()) {
      names.push_back(name);
      cell.ratios.push_back(of_cell.number(name));
    }
    if (ratios.cells.empty()) ratios.exchanges = names;
    if (names != ratios.exchanges) each.fail("vs_mpi_alltoallv", "names other exchanges than the cell before it");
    of_cell.at(std::string(library_exchange));
    ratios.cells.push_back(std::move(cell));
  }
  return ratios;
}

}  // namespace

Json to_json(const MachineModel& machine) {
  Json json{
      {"format", machine_format}, {"name", machine.name}, {"source", machine.source}, {"measured", machine.measured}};
  if (!machine.fingerprint.empty()) json["fingerprint"] = machine.fingerprint;
  const auto add = [](Json& to, const char* key, double value) {
    if (value > 0.0) to[key] = value;
  };
  if (machine.ranks_per_node > 0) json["ranks_per_node"] = machine.ranks_per_node;
  add(json, "memory_per_rank", machine.memory_per_rank);
  add(json, "cache_per_rank", machine.cache_per_rank);
  add(json, "flops", machine.flops);
  Json sheet = Json::object();
  add(sheet, "cores", machine.sheet_cores);
  add(sheet, "memory_bytes_per_second", machine.sheet_memory_bytes_per_second);
  if (!sheet.empty()) json["data_sheet"] = sheet;
  for (std::size_t t = 0; t < terms.size(); ++t) json["seconds"][std::string(terms[t].name)] = machine.seconds[t];
  for (const auto& [name, weight] : machine.optimizer_weights) json["optimizer_weights"][name] = weight;
  json["exchanges"] = Json::object();
  for (const auto& [name, exchange] : machine.exchanges) json["exchanges"][name] = exchange_json(exchange);
  json["all_reduce"] = exchange_json({machine.all_reduce_inside, machine.all_reduce_between});
  add(json, "node_bytes_per_second", machine.node_bytes_per_second);
  Json rates = Json::object();
  add(rates, "stream", machine.stream_bytes_per_second);
  add(rates, "gather", machine.gather_bytes_per_second);
  add(rates, "update", machine.update_bytes_per_second);
  if (!rates.empty()) json["bytes_per_second"] = rates;
  if (!machine.ratios.cells.empty()) json["auto"] = ratios_json(machine.ratios);
  return json;
}

MachineModel machine_from_json(const Json& json, const std::string& origin) {
  const MachineObject top(json, origin, "");
  if (const auto format = top.text<std::string>("format"); format != machine_format)
    top.fail("format",
             fmt::format("is \"{}\", not \"{}\"; measure it again with shardmark calibrate", format, machine_format));
  MachineModel machine;
  machine.name = top.text<std::string>("name");
  machine.source = top.text<std::string>("source");
  machine.measured = top.text<bool>("measured");
  if (top.has("fingerprint")) machine.fingerprint = top.text<std::string>("fingerprint");
  if (top.has("ranks_per_node")) machine.ranks_per_node = static_cast<int>(top.count("ranks_per_node", most_ranks));
  machine.memory_per_rank = top.rate("memory_per_rank");
  machine.cache_per_rank = top.rate("cache_per_rank");
  machine.flops = top.rate("flops");
  if (top.has("data_sheet")) {
    const MachineObject sheet = top.object("data_sheet");
    machine.sheet_cores = sheet.rate("cores");
    machine.sheet_memory_bytes_per_second = sheet.rate("memory_bytes_per_second");
  }
  read_terms(top.object("seconds"), machine);
  if (top.has("optimizer_weights")) read_weights(top.object("optimizer_weights"), machine);
  read_messages(top, machine);
  machine.node_bytes_per_second = top.rate("node_bytes_per_second");
  if (top.has("auto")) machine.ratios = read_ratios(top.object("auto"));
  if (!top.has("bytes_per_second")) return machine;
  const MachineObject rates = top.object("bytes_per_second");
  machine.stream_bytes_per_second = rates.rate("stream");
  machine.gather_bytes_per_second = rates.rate("gather");
  machine.update_bytes_per_second = rates.rate("update");
  return machine;
}

MachineModel read_machine(const std::string& file) {
  std::ifstream stream(file);
  if (!stream)
    throw InputError(file + ": cannot be read; name a machine file or a described one (shardmark list machines)");
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  return machine_from_json(parse_json(text, file), file);
}

std::vector<std::string> described_machines() {
  std::vector<std::string> names;
  for (const BuiltinMachine& machine : builtin_machines) names.emplace_back(machine.name);
  std::ranges::sort(names);
  return names;
}

MachineModel named_machine(const std::string& name_or_file) {
  if (name_or_file.ends_with(".json")) return read_machine(name_or_file);
  const BuiltinMachine& found = choice_named(builtin_machines, "machine", name_or_file);
  return machine_from_json(parse_json(found.text, found.name), std::string(found.name));
}

const MachineModel& described_cluster() {
  static const MachineModel cluster = named_machine("cpu-100g");
  return cluster;
}

void require_known(const MachineModel& machine, int nodes) {
  if (nodes > 1 && machine.exchange(library_exchange).between.points.empty())
    throw InputError(fmt::format(
        "machine {}: it was measured on one node and says nothing of exchanges between {} nodes; calibrate on several, "
        "describe them under \"exchanges\", or say --links and --latency, or --ranks-per-node",
        machine.name, nodes));
}

}  // namespace shardmark::placement
