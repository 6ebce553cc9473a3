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

/// --to and --out of commands that write a plan.
void add_plan_output(CLI::App& command, std::string& format, std::string& out);

/// The plan in a format of plan_formats, into a file or, without one, on the screen.
void write_plan(const std::string& format, const std::string& out, const Workload& workload,
                const placement::Plan& plan);

}  // namespace shardmark::workloads
