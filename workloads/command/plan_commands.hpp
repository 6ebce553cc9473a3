// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/placement/plan.hpp"
#include "workloads/cases/spec.hpp"

namespace CLI {
class App;
}

namespace shardmark::workloads {

void define_plan_create(CLI::App& app);
void define_plan_show(CLI::App& app);

/// Where and how a plan is written: --to, --out and --force.
struct PlanOutput {
  std::string format = "shardmark";  ///< of plan_formats
  std::string file;                  ///< empty: the screen
  bool force = false;

  /// Throws InputError where the file may not be written, before a plan is made.
  void require_writable() const;
};
void add_plan_output(CLI::App& command, PlanOutput& output);
void write_plan(const PlanOutput& output, const Workload& workload, const placement::Plan& plan);

}  // namespace shardmark::workloads
