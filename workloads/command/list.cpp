// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "comm/exchange/named_exchange.hpp"
#include "comm/placement/dedup.hpp"
#include "comm/placement/movement.hpp"
#include "comm/placement/plan_file.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/replicated_gradients.hpp"
#include "datasets/id_mapping.hpp"
#include "workloads/batches/id_generator.hpp"
#include "workloads/cases/options.hpp"
#include "workloads/command/command.hpp"
#include "workloads/sweep/skew.hpp"

namespace shardmark {
namespace {

template <class Choices>
void print_choices(const Choices& choices) {
  for (const auto& choice : choices) fmt::print("  {:<26} {}\n", choice.name, choice.description);
}

void print_exchanges() {
  for (const auto& exchange : all_exchanges())
    fmt::print("  {:<26} {}\n", exchange.name(), exchange.choice->description);
}

void print_workloads() {
  for (const std::string& name : builtin_workloads())
    fmt::print("  {:<26} {}\n", name, load_workload(name).description);
}

struct Listing {
  std::string_view name;
  std::string_view description;
  void (*print)();
};

constexpr std::array listings{
    Listing{"workloads", "tables, features and batches", print_workloads},
    Listing{"planners", "which rank owns what", [] { print_choices(planners); }},
    Listing{"transfers", "what travels", [] { print_choices(transfers); }},
    Listing{"exchanges", "how it travels (:N: a number that can be given, and its default)", print_exchanges},
    Listing{"dedups", "where repeated ids become one when rows travel one by one", [] { print_choices(dedups); }},
    Listing{"skews", "shapes of traffic for shardmark exchange", [] { print_choices(skews); }},
    Listing{"replicated-gradients", "how gradients of data_parallel tables are summed over the ranks",
            [] { print_choices(replicated_gradients); }},
    Listing{"optimizers", "how rows are updated", [] { print_choices(optimizers); }},
    Listing{"poolings", "how the rows of a bag become one vector", [] { print_choices(poolings); }},
    Listing{"value-types", "how tables keep their values", [] { print_choices(value_types); }},
    Listing{"weight-decays", "what weight decay is added to", [] { print_choices(weight_decays); }},
    Listing{"distributions", "how ids are drawn", [] { print_choices(id_distributions); }},
    Listing{"id-rules", "how the values of a data file become ids", [] { print_choices(id_rules); }},
    Listing{"plan-formats", "plan files that can be written", [] { print_choices(plan_formats); }},
    Listing{"bounds-checks", "what happens to ids outside their table", [] { print_choices(kernels::bounds_checks); }},
    Listing{"settings", "keys of --set", [] { print_choices(settings()); }},
    Listing{"faults", "defects that --set fault=... commits, to test the check and the watchdog",
            [] { print_choices(faults); }},
};

void print_all(const std::string& wanted) {
  if (!wanted.empty()) {
    choice_named(listings, "list", wanted).print();
    return;
  }
  for (const Listing& listing : listings) {
    fmt::print("{}: {}\n", listing.name, listing.description);
    listing.print();
  }
}

}  // namespace

void define_list(CLI::App& app) {
  const auto wanted = std::make_shared<std::string>();
  app.add_option("WHAT", *wanted, "only this list: workloads, planners, transfers, exchanges, optimizers, ...");
  app.callback([wanted] { print_all(*wanted); });
}

}  // namespace shardmark
