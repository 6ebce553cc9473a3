// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "comm/placement/cost/machine_file.hpp"
#include "comm/placement/formats/plan_file.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/traffic/skew.hpp"
#include "results/results_table.hpp"
#include "workloads/cases/option_table.hpp"
#include "workloads/cases/spec.hpp"
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
}

void print_terms() {
  for (const placement::TermChoice& term : placement::terms) fmt::print("  {:<26} {}\n", term.name, term.unit);
}

void print_options() {
  for (const Option& option : options())
    fmt::print("  {:<26} {}: {}{}\n", option.name, option.description, option.valid,
               option.usual().empty() ? "" : fmt::format(" (default: {})", option.usual()));
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
      {"terms", "what a machine file gives the seconds of", print_terms},
      {"skews", "shapes of traffic for shardmark exchange", [] { print_choices(placement::skews); }},
      {"plan-formats", "plan files that can be written", [] { print_choices(placement::plan_formats); }},
      {"results-formats", "how run, compare and results show print", [] { print_choices(results::results_formats); }},
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
