// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/machine_options.hpp"

#include <CLI/CLI.hpp>

#include "comm/placement/cost/machine_file.hpp"
#include "comm/placement/plan.hpp"
#include "workloads/command/quantity.hpp"

namespace shardmark::workloads {

placement::DataSheet MachineOptions::sheet() const {
  placement::DataSheet sheet;
  if (!links.empty()) sheet.links = option_value("--links", links, links_in);
  if (!latency.empty()) sheet.latency = option_value("--latency", latency, latency_in);
  sheet.ranks_per_node = ranks_per_node;
  return sheet;
}

placement::MachineModel MachineOptions::chosen() const {
  return placement::described_machine(placement::named_machine(machine), sheet()).machine;
}

void add_machine_options(CLI::App& app, MachineOptions& options) {
  app.add_option("--machine", options.machine,
                 "file of `shardmark calibrate` or `shardmark machine describe` (.json), or a described machine "
                 "(shardmark list machines)")
      ->capture_default_str();
  add_link_options(app, options);
}

void add_link_options(CLI::App& app, MachineOptions& options) {
  app.add_option("--links", options.links,
                 "links that leave a node, such as 200Gb/s or 8x200Gb/s (default: the machine's)");
  app.add_option("--latency", options.latency,
                 "latency of an empty message between nodes, such as 2us (default: the machine's)");
  app.add_option("--ranks-per-node", options.ranks_per_node, "ranks that share a node (default: the machine's)")
      ->check(CLI::Range(1, placement::largest_job));
}

}  // namespace shardmark::workloads
