// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/machine_parts.hpp"

#include "comm/placement/builtin_hardware.hpp"
#include "comm/placement/builtin_software.hpp"
#include "comm/placement/cost/machine_object.hpp"
#include "comm/placement/exchange_shapes.hpp"
#include "reference/input_file.hpp"
#include "reference/json.hpp"

namespace shardmark::placement {
namespace {

using Json = nlohmann::ordered_json;

constexpr double share_of_cache = 0.5;     ///< that holds rows
constexpr double share_of_tt_flops = 0.1;  ///< of fp32: products of tensor trains are small
constexpr double a_megabyte = 0x1p20;      ///< bytes; a message's seconds are linear
constexpr double most_ranks_of_node = 4096;

/// Holds the JSON of a part and where it comes from, which a MachineObject refers to.
struct PartText {
  Json json;
  std::string origin;

  MachineObject object() const { return {json, origin, ""}; }
};

template <class Builtin>
PartText part_named(const Builtin& builtin, std::string_view what, const std::string& name_or_file) {
  if (!name_or_file.ends_with(".json"))
    return {parse_json(choice_named(builtin, what, name_or_file).text, name_or_file), name_or_file};
  const auto text = file_text(name_or_file);
  if (!text)
    throw InputError(fmt::format("{}: cannot be read; name a file of {} or a described one (shardmark list machines)",
                                 name_or_file, what));
  return {parse_json(*text, name_or_file), name_or_file};
}

void require_format(const MachineObject& top, std::string_view wanted) {
  if (const auto format = top.text<std::string>("format"); format != wanted)
    top.fail("format", fmt::format("is \"{}\", not \"{}\"", format, wanted));
}

template <class Builtin>
std::vector<MachinePart> parts_of(const Builtin& builtin) {
  std::vector<MachinePart> parts;
  for (const auto& each : builtin) {
    const Json json = parse_json(each.text, std::string(each.name));
    parts.push_back({std::string(each.name), json.at("source").template get<std::string>()});
  }
  std::ranges::sort(parts, {}, &MachinePart::name);
  return parts;
}

/// Makes the numbers of a machine from those of its parts.
class Assembly {
 public:
  Assembly(const MachineObject& hardware, const MachineObject& software) : hardware_(hardware), software_(software) {
    require_format(hardware_, hardware_format);
    require_format(software_, software_format);
    hardware_.require_keys({"format", "name", "source", "ranks_per_node", "memory_per_rank", "cache_per_rank",
                            "memory_bytes_per_second", "flops", "inside", "between"});
    software_.require_keys({"format", "name", "date", "source", "derivation", "options", "overlaps", "dense",
                            "memory_share", "row_shares", "launch", "links"});
  }

  MachineModel machine() {
    name();
    memory();
    launches();
    dense();
    links();
    return std::move(machine_);
  }

 private:
  void name() {
    const auto hardware = hardware_.text<std::string>("name"), software = software_.text<std::string>("name");
    machine_.name = hardware + "+" + software;
    machine_.source = fmt::format("described, not measured: {}; {}", hardware_.text<std::string>("source"),
                                  software_.text<std::string>("source"));
    machine_.software = software_of(software_);
    machine_.ranks_per_node = static_cast<int>(hardware_.count("ranks_per_node", most_ranks_of_node));
    machine_.memory_per_rank = hardware_.rate("memory_per_rank");
    machine_.cache_per_rank = share_of_cache * hardware_.rate("cache_per_rank");
  }

  void memory() {
    hardware_.at("memory_bytes_per_second");
    const double all = hardware_.rate("memory_bytes_per_second"), stream = software_.share("memory_share") * all;
    machine_.sheet_memory_bytes_per_second = all;
    machine_.stream_bytes_per_second = stream;
    machine_.row_shares = software_.row_shares("row_shares");
    if (machine_.row_shares.empty()) software_.fail("row_shares", "is missing");
    for (std::size_t t = 0; t < terms.size(); ++t)
      machine_.seconds[t] = terms[t].bytes / (terms[t].name.ends_with("line") ? all : stream);
    for (const OptimizerChoice& optimizer : optimizers) machine_.optimizer_weights[std::string(optimizer.name)] = 1.0;
    machine_.optimizer_weights[std::string(name_of(OptimizerKind::none))] = 0.0;
  }

  void launches() {
    const MachineObject launch = software_.object("launch");
    std::vector<std::string_view> keys{"seconds"};
    keys.insert(keys.end(), phase_names.begin(), phase_names.end());
    launch.require_keys(keys);
    launch.at("seconds");
    const double seconds = launch.seconds("seconds");
    for (const auto& [phase, term] : {std::pair(Phase::input_dist, Term::route_step),
                                      {Phase::lookup, Term::lookup_step},
                                      {Phase::output_dist, Term::output_step},
                                      {Phase::grad_dist, Term::gradient_step},
                                      {Phase::update, Term::update_step}})
      at(machine_.seconds, term) = seconds * launch.number(std::string(name_of(phase)));
    machine_.dense_start = seconds * launch.number(std::string(name_of(Phase::dense)));
  }

  void dense() {
    const MachineObject dense = software_.object("dense"), flops = hardware_.object("flops");
    dense.require_keys({"format", "flops_share", "gradient_bytes"});
    flops.require_keys({"fp32", "tf32", "fp16", "bf16"});
    const auto format = dense.text<std::string>("format");
    for (const auto& [key, value] : flops.items()) flops.rate(key);
    if (!flops.has(format)) flops.fail(format, fmt::format("is missing: {} computes in it", machine_.software.name));
    machine_.flops = dense.share("flops_share") * flops.rate(format);
    flops.at("fp32");
    at(machine_.seconds, Term::tt_flop) = at(machine_.seconds, Term::tt_gradient_flop) =
        1.0 / (share_of_tt_flops * flops.rate("fp32"));
  }

  struct Link {
    double share, round, message;
  };
  Link link(const MachineObject& links, const char* key) const {
    const MachineObject of = links.object(key);
    of.require_keys({"share", "round", "message"});
    return {of.share("share"), of.seconds("round"), of.seconds("message")};
  }

  static MessageCost message(double start, double bytes_per_second) {
    return {{{0.0, start}, {a_megabyte, start + a_megabyte / bytes_per_second}}};
  }

  void links() {
    const MachineObject links = software_.object("links");
    links.require_keys({"call", "inside", "between"});
    const Link inside = link(links, "inside"), between = link(links, "between");
    const MachineObject neighbours = hardware_.object("inside");
    neighbours.require_keys({"bytes_per_second", "switch"});
    neighbours.at("bytes_per_second");
    const double within = inside.share * neighbours.rate("bytes_per_second");
    if (neighbours.has("switch")) {
      read_switch(neighbours.object("switch"), machine_);
      machine_.switch_bytes_per_second *= inside.share;
    }
    ExchangeCost& exchange = machine_.exchanges[std::string(library_exchange)];
    exchange.call = machine_.all_reduce_call = links.seconds("call");
    exchange.inside = message(inside.message, within);
    exchange.inside_round = inside.round;
    machine_.all_reduce_inside = message(inside.round, within);
    machine_.all_reduce_by_trees = true;
    if (!hardware_.has("between")) return;
    const MachineObject out = hardware_.object("between");
    out.require_keys({"links", "bytes_per_second"});
    out.at("bytes_per_second");
    const double of_rank = between.share * out.rate("bytes_per_second");
    machine_.node_bytes_per_second = static_cast<double>(out.count("links", most_ranks_of_node)) * of_rank;
    exchange.between = message(between.message, of_rank);
    exchange.between_round = between.round;
    machine_.all_reduce_between = message(between.round, of_rank);
  }

  const MachineObject& hardware_;
  const MachineObject& software_;
  MachineModel machine_;
};

}  // namespace

std::vector<MachinePart> described_hardware() { return parts_of(builtin_hardware); }

std::vector<MachinePart> described_software() { return parts_of(builtin_software); }

Software software_of(const MachineObject& object) {
  Software software{.name = object.text<std::string>("name"), .date = object.text<std::string>("date")};
  for (const std::string& name : object.texts("overlaps")) {
    try {
      software.overlaps.set(index_of(choice_named(overlaps, "overlap", name).value));
    } catch (const InputError& error) {
      object.fail("overlaps", error.what());
    }
  }
  software.options = object.texts("options");
  const MachineObject where = object.has("dense") ? object.object("dense") : object;
  where.at("gradient_bytes");
  software.gradient_bytes = where.rate("gradient_bytes");
  return software;
}

void read_switch(const MachineObject& object, MachineModel& machine) {
  object.require_keys({"ranks", "bytes_per_second"});
  machine.switch_ranks = static_cast<int>(object.count("ranks", most_ranks_of_node));
  object.at("bytes_per_second");
  machine.switch_bytes_per_second = object.rate("bytes_per_second");
}

MachineModel machine_of_parts(const std::string& hardware, const std::string& software) {
  const PartText of_hardware = part_named(builtin_hardware, "hardware", hardware);
  const PartText of_software = part_named(builtin_software, "software", software);
  const MachineObject first = of_hardware.object(), second = of_software.object();
  return Assembly(first, second).machine();
}

void require_whole(const MachineObject& top) {
  const auto format = top.text<std::string>("format");
  if (format == hardware_format)
    top.fail("software", "is missing: this is hardware; say HARDWARE+SOFTWARE (shardmark list machines)");
  if (format == software_format)
    top.fail("flops", "is missing: this is software; say HARDWARE+SOFTWARE (shardmark list machines)");
}

void require_no_part(std::string_view name) {
  const auto named = [&](const auto& part) { return part.name == name; };
  if (std::ranges::any_of(builtin_hardware, named))
    throw InputError(
        fmt::format("{}: \"software\" is missing: this is hardware; say {}+{} for example (shardmark list "
                    "machines)",
                    name, name, builtin_software.front().name));
  if (std::ranges::any_of(builtin_software, named))
    throw InputError(
        fmt::format("{}: \"flops\" is missing: this is software; say {}+{} for example (shardmark list "
                    "machines)",
                    name, builtin_hardware.front().name, name));
}

}  // namespace shardmark::placement
