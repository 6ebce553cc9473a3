// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "comm/placement/cost/machine_file.hpp"
#include "comm/placement/cost/machine_parts.hpp"
#include "comm/placement/cost/without_term.hpp"
#include "comm/placement/formats/plan_file.hpp"
#include "comm/placement/formats/torchrec_topology.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/traffic/skew.hpp"
#include "results/json_text.hpp"
#include "results/results_table.hpp"
#include "workloads/cases/option_table.hpp"
#include "workloads/cases/published_file.hpp"
#include "workloads/cases/spec.hpp"
#include "workloads/cases/spec_key.hpp"
#include "workloads/command/command.hpp"

namespace shardmark::workloads {
namespace {

template <class Choices>
void print_choices(const Choices& choices) {
  for (const auto& choice : choices) fmt::print("  {:<26} {}\n", choice.name, choice.description);
}

/// Settings are printed as they are said after the planner's name, each with what it usually is.
void print_planners() {
  for (const placement::Planner& planner : placement::planners) {
    fmt::print("  {:<26} {}\n", planner.name, planner.description);
    for (const placement::PlannerSetting& setting : planner.settings)
      fmt::print("    {:<24} {}\n", ':' + setting.spelled(), setting.description);
  }
}

void print_workloads() {
  for (const std::string& name : builtin_workloads())
    fmt::print("  {:<26} {}\n", name, load_workload(name).description);
}

void print_machines() {
  for (const std::string& name : placement::described_machines())
    fmt::print("  {:<26} {}\n", name, placement::named_machine(name).source);
  fmt::print("Or HARDWARE+SOFTWARE, such as hgx-h100+hugectr-mlperf-2024. Hardware:\n");
  for (const auto& [name, source] : placement::described_hardware()) fmt::print("  {:<26} {}\n", name, source);
  fmt::print("Software:\n");
  for (const auto& [name, source] : placement::described_software()) fmt::print("  {:<26} {}\n", name, source);
}

void print_published() {
  for (const std::string& name : builtin_published()) {
    const PublishedFile file = load_published(name);
    fmt::print("  {:<26} {}{}{}\n", name, file.title, file.notice.empty() ? "" : "; ", file.notice);
  }
}

void print_terms() {
  for (const placement::TermChoice& term : placement::terms) fmt::print("  {:<26} {}\n", term.name, term.unit);
  fmt::print("Parts of the model that predict --without takes too, with their terms where these say nothing alone:\n");
  for (const placement::ModelPart& part : placement::model_parts) {
    fmt::print("  {:<26} {}\n", part.name, part.description);
    for (const placement::Term term : part.terms)
      fmt::print("    {}\n", placement::terms[static_cast<std::size_t>(term)].name);
  }
}

void print_options() {
  for (const Option& option : options())
    fmt::print("  {:<26} {}: {}{}\n", option.name, option.description, option.valid,
               option.usual().empty() ? "" : fmt::format(" (default: {})", option.usual()));
}

std::string usual_text(const SpecKey& key) {
  if (key.required) return "required";
  return key.usual.is_null() ? "" : results::text_of(key.usual);
}

/// Adds the keys in the order of the spec, by their paths; those of an object that several keys take once.
void add_lines(const std::vector<SpecKey>& keys, const std::string& path, std::set<std::string>& shown,
               std::vector<std::array<std::string, 5>>& lines) {
  constexpr std::size_t one_line = 60;
  for (const SpecKey& key : keys) {
    std::string description(key.description);
    const std::string choices = fmt::format("{}", fmt::join(key.choices, ", "));
    if (!key.choices.empty())
      description += choices.size() <= one_line ? fmt::format(": {}", choices)
                                                : fmt::format(" (shardmark list {})", list_name_of(key.what));
    const std::string name = path + key.name + (key.list && !key.keys.empty() ? "[]" : "");
    const bool again = !key.keys.empty() && !shown.insert(key.name).second;
    if (again) description += fmt::format("; keys: those of {}", key.name);
    lines.push_back({name, key.type_text(), std::string(key.unit), usual_text(key), description});
    if (!again) add_lines(key.keys, name + ".", shown, lines);
  }
}

void print_spec_keys() {
  std::set<std::string> shown;
  std::vector<std::array<std::string, 5>> lines;
  add_lines(described_spec(), "", shown, lines);
  std::array<std::size_t, 4> widths{};
  for (const auto& line : lines)
    for (std::size_t c = 0; c < widths.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  for (const auto& [name, type, unit, usual, description] : lines)
    fmt::print("  {:<{}}  {:<{}}  {:<{}}  {:<{}}  {}\n", name, widths[0], type, widths[1], unit, widths[2], usual,
               widths[3], description);
}

struct Listing {
  std::string name;
  std::string_view description;
  std::function<void()> print;
};

/// Tables of their own, and the named values of each option; those that two options share once.
std::vector<Listing> listings() {
  std::vector<Listing> all{
      {"workloads", "tables, features and batches", print_workloads},
      {"planners", "which rank owns what", print_planners},
      {"machines", "described ones, for shardmark predict", print_machines},
      {"published", "steps that others published, for shardmark predict --published", print_published},
      {"terms", "what a machine file gives the seconds of", print_terms},
      {"skews", "shapes of traffic for shardmark exchange", [] { print_choices(placement::skews); }},
      {"plan-formats", "plan files that can be written", [] { print_choices(placement::plan_formats); }},
      {"machine-formats", "formats of a machine, of `calibrate` and `machine convert`",
       [] { print_choices(placement::machine_formats); }},
      {"results-formats", "how run, compare and results show print", [] { print_choices(results::results_formats); }},
      {"spec-keys", "of a workload spec: key, type, unit, default, meaning", print_spec_keys},
      {"options", "of run and compare, as --option or --set option=value", print_options},
  };
  for (const Option& option : options())
    if (!option.values.empty() && std::ranges::find(all, option.list_name(), &Listing::name) == all.end())
      all.push_back({option.list_name(), option.description, [&option] { print_choices(option.values); }});
  return all;
}

void print_all(const std::string& wanted) {
  auto all = listings();
  all.push_back({"all", "all of these lists", [] {}});
  if (wanted.empty()) {
    fmt::print("Usage: shardmark list WHAT, which is one of\n");
    return print_choices(all);
  }
  if (wanted != "all") return choice_named(all, "list", wanted == "settings" ? "options" : wanted).print();
  all.pop_back();
  for (const Listing& listing : all) {
    fmt::print("{}: {}\n", listing.name, listing.description);
    listing.print();
  }
}

}  // namespace

void define_list(CLI::App& app) {
  const auto wanted = std::make_shared<std::string>();
  add_word(app, "WHAT", *wanted,
           "a list: workloads, planners, transfers, exchanges, options, ...; all; none: their names");
  when_parsed(app, [wanted] { print_all(*wanted); });
}

}  // namespace shardmark::workloads
