// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/machine_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "comm/placement/builtin_machines.hpp"
#include "comm/placement/cost/machine_object.hpp"
#include "comm/placement/cost/machine_parts.hpp"
#include "comm/placement/exchange_shapes.hpp"
#include "reference/input_file.hpp"
#include "reference/json.hpp"

namespace shardmark::placement {
namespace {

using Json = nlohmann::ordered_json;

constexpr double most_ranks_of_job = 1e6, most_bytes = 0x1p40;  ///< of a node or job; from rank to rank

/// [[bytes, seconds or share], ...]; no key where there are no points.
void add_points(Json& to, const char* key, const auto& points) {
  for (const auto& [bytes, value] : points) to[key].push_back({bytes, value});
}

void add_positive(Json& to, const char* key, double value) {
  if (value > 0.0) to[key] = value;
}

Json exchange_json(const ExchangeCost& exchange) {
  Json json = Json::object();
  add_positive(json, "call", exchange.call);
  add_positive(json, "inside_round", exchange.inside_round);
  add_positive(json, "between_round", exchange.between_round);
  add_points(json, "inside", exchange.inside.points);
  add_points(json, "between", exchange.between.points);
  return json;
}

void read_terms(const MachineObject& seconds, MachineModel& machine) {
  for (const auto& [name, value] : seconds.items()) {
    std::vector<std::string_view> valid;
    for (const TermChoice& term : terms) valid.push_back(term.name);
    if (std::ranges::find(valid, name) == valid.end())
      seconds.fail(name,
                   "is no term; " + suggestion(name, valid) + fmt::format("they are listed by shardmark list terms"));
  }
  for (std::size_t t = 0; t < terms.size(); ++t) {
    if (terms[t].like && !seconds.has(std::string(terms[t].name))) continue;
    machine.seconds[t] = seconds.number(std::string(terms[t].name));
    if (machine.seconds[t] > most_term_seconds)
      seconds.fail(std::string(terms[t].name), fmt::format("is {} seconds, more than an hour", machine.seconds[t]));
  }
  for (std::size_t t = 0; t < terms.size(); ++t)
    if (terms[t].like && !seconds.has(std::string(terms[t].name)))
      machine.seconds[t] = seconds_like(terms[t], machine.seconds);
}

void read_weights(const MachineObject& weights, MachineModel& machine) {
  for (const auto& [name, value] : weights.items()) {
    if (std::ranges::find(optimizers, name, &OptimizerChoice::name) == optimizers.end())
      weights.fail(name, "is no optimizer (shardmark list optimizers)");
    machine.optimizer_weights[name] = weights.number(name);
  }
}

Json alone_json(const AloneShares& alone) {
  Json json = Json::object();
  add_points(json, "inside", alone.inside);
  add_points(json, "between", alone.between);
  return json;
}

AloneShares alone_of(const MachineObject& object) {
  object.require_keys({"inside", "between"});
  return {object.shares("inside"), object.shares("between")};
}

LinkLimit limit_of(const MachineObject& object) {
  object.require_keys({"bytes_per_second", "burst_bytes"});
  object.at("bytes_per_second");
  object.at("burst_bytes");
  return {object.rate("bytes_per_second"), object.rate("burst_bytes")};
}

ExchangeCost exchange_of(const MachineObject& object) {
  return {object.points("inside"), object.points("between"), object.seconds("call"), object.seconds("inside_round"),
          object.seconds("between_round")};
}

void read_messages(const MachineObject& top, MachineModel& machine) {
  const MachineObject exchanges = top.object("exchanges");
  for (const auto& [name, value] : exchanges.items()) {
    const MachineObject exchange = exchanges.object(name);
    machine.exchanges[name] = exchange_of(exchange);
  }
  const bool of_one_rank = machine.measured && machine.exchanges.empty();
  if (!of_one_rank && !machine.exchanges.contains(library_exchange))
    exchanges.fail(std::string(library_exchange), "is missing");
  if (!top.has("all_reduce")) return;
  const MachineObject all_reduce = top.object("all_reduce");
  machine.all_reduce_inside = all_reduce.points("inside");
  machine.all_reduce_between = all_reduce.points("between");
  machine.all_reduce_call = all_reduce.seconds("call");
  machine.all_reduce_by_trees = all_reduce.has("by_trees") && all_reduce.text<bool>("by_trees");
}

Json software_json(const Software& software) {
  Json names = Json::array();
  for (const auto& overlap : overlaps)
    if (software.overlapping(overlap.value)) names.push_back(overlap.name);
  return {{"name", software.name},
          {"date", software.date},
          {"overlaps", names},
          {"gradient_bytes", software.gradient_bytes},
          {"options", software.options}};
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
  ExchangeRatios ratios{.ranks = static_cast<int>(top.count("ranks", most_ranks_of_job)),
                        .nodes = static_cast<int>(top.count("nodes", most_ranks_of_job)),
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
  if (machine.software != Software{}) json["software"] = software_json(machine.software);
  if (machine.ranks_per_node > 0) json["ranks_per_node"] = machine.ranks_per_node;
  add_positive(json, "memory_per_rank", machine.memory_per_rank);
  add_positive(json, "cache_per_rank", machine.cache_per_rank);
  add_positive(json, "flops", machine.flops);
  add_positive(json, "dense_start", machine.dense_start);
  Json sheet = Json::object();
  add_positive(sheet, "cores", machine.sheet_cores);
  add_positive(sheet, "memory_bytes_per_second", machine.sheet_memory_bytes_per_second);
  if (!sheet.empty()) json["data_sheet"] = sheet;
  if (machine.on_processors) json["on_processors"] = true;
  for (std::size_t t = 0; t < terms.size(); ++t) json["seconds"][std::string(terms[t].name)] = machine.seconds[t];
  add_points(json, "row_shares", machine.row_shares);
  for (const auto& [name, weight] : machine.optimizer_weights) json["optimizer_weights"][name] = weight;
  json["exchanges"] = Json::object();
  for (const auto& [name, exchange] : machine.exchanges) json["exchanges"][name] = exchange_json(exchange);
  json["all_reduce"] = exchange_json({machine.all_reduce_inside, machine.all_reduce_between, machine.all_reduce_call});
  if (machine.all_reduce_by_trees) json["all_reduce"]["by_trees"] = true;
  if (machine.switch_ranks > 0)
    json["switch"] = {{"ranks", machine.switch_ranks}, {"bytes_per_second", machine.switch_bytes_per_second}};
  if (machine.alone != AloneShares{}) json["alone"] = alone_json(machine.alone);
  if (machine.limit.limits())
    json["limit"] = {{"bytes_per_second", machine.limit.bytes_per_second}, {"burst_bytes", machine.limit.burst}};
  add_positive(json, "node_bytes_per_second", machine.node_bytes_per_second);
  Json rates = Json::object();
  add_positive(rates, "stream", machine.stream_bytes_per_second);
  add_positive(rates, "gather", machine.gather_bytes_per_second);
  add_positive(rates, "update", machine.update_bytes_per_second);
  if (!rates.empty()) json["bytes_per_second"] = rates;
  if (!machine.ratios.cells.empty()) json["auto"] = ratios_json(machine.ratios);
  return json;
}

MachineModel machine_from_json(const Json& json, const std::string& origin) {
  const MachineObject top(json, origin, "");
  require_whole(top);
  if (const auto format = top.text<std::string>("format"); format != machine_format)
    top.fail("format",
             fmt::format("is \"{}\", not \"{}\"; measure it again with shardmark calibrate", format, machine_format));
  MachineModel machine;
  machine.name = top.text<std::string>("name");
  machine.source = top.text<std::string>("source");
  machine.measured = top.text<bool>("measured");
  if (top.has("fingerprint")) machine.fingerprint = top.text<std::string>("fingerprint");
  if (top.has("ranks_per_node"))
    machine.ranks_per_node = static_cast<int>(top.count("ranks_per_node", most_ranks_of_job));
  machine.memory_per_rank = top.rate("memory_per_rank");
  machine.cache_per_rank = top.rate("cache_per_rank");
  machine.flops = top.rate("flops");
  machine.dense_start = top.seconds("dense_start");
  if (top.has("data_sheet")) {
    const MachineObject sheet = top.object("data_sheet");
    machine.sheet_cores = sheet.rate("cores");
    machine.sheet_memory_bytes_per_second = sheet.rate("memory_bytes_per_second");
  }
  if (top.has("software")) machine.software = software_of(top.object("software"));
  machine.row_shares = top.row_shares("row_shares");
  machine.on_processors = top.has("on_processors") && top.text<bool>("on_processors");
  read_terms(top.object("seconds"), machine);
  if (top.has("optimizer_weights")) read_weights(top.object("optimizer_weights"), machine);
  read_messages(top, machine);
  if (top.has("alone")) machine.alone = alone_of(top.object("alone"));
  if (top.has("limit")) machine.limit = limit_of(top.object("limit"));
  machine.node_bytes_per_second = top.rate("node_bytes_per_second");
  if (top.has("switch")) read_switch(top.object("switch"), machine);
  if (top.has("auto")) machine.ratios = read_ratios(top.object("auto"));
  if (!top.has("bytes_per_second")) return machine;
  const MachineObject rates = top.object("bytes_per_second");
  machine.stream_bytes_per_second = rates.rate("stream");
  machine.gather_bytes_per_second = rates.rate("gather");
  machine.update_bytes_per_second = rates.rate("update");
  return machine;
}

MachineModel read_machine(const std::string& file) {
  const auto text = file_text(file);
  if (!text)
    throw InputError(file + ": cannot be read; name a machine file or a described one (shardmark list machines)");
  return machine_from_json(parse_json(*text, file), file);
}

std::vector<std::string> described_machines() {
  std::vector<std::string> names;
  for (const BuiltinMachine& machine : builtin_machines) names.emplace_back(machine.name);
  std::ranges::sort(names);
  return names;
}

MachineModel named_machine(const std::string& name_or_file) {
  if (const auto plus = name_or_file.rfind('+'); plus != name_or_file.npos && !std::filesystem::exists(name_or_file))
    return machine_of_parts(name_or_file.substr(0, plus), name_or_file.substr(plus + 1));
  if (name_or_file.ends_with(".json")) return read_machine(name_or_file);
  require_no_part(name_or_file);
  const BuiltinMachine& found = choice_named(builtin_machines, "machine", name_or_file);
  return machine_from_json(parse_json(found.text, found.name), std::string(found.name));
}

const MachineModel& described_cluster() {
  static const MachineModel cluster = named_machine("cpu-100g");
  return cluster;
}

void require_known(const MachineModel& machine, int nodes) {
  if (nodes > 1 && machine.exchange(library_exchange).between.points.empty())
    throw InputError(
        fmt::format("machine {}: it {} and says nothing of exchanges between {} nodes; calibrate on several, "
                    "describe them under \"{}\", or say --links and --latency, or --ranks-per-node",
                    machine.name, machine.measured ? "was measured on one node" : "is of one node", nodes,
                    machine.software.name.empty() ? "exchanges" : "between"));
}

}  // namespace shardmark::placement
