// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "comm/placement/cost/machine_description.hpp"

namespace CLI {
class App;
}

namespace shardmark::workloads {

/// What commands that predict without MPI are told of the machine.
struct MachineOptions {
  std::string machine = "cpu-100g";  ///< a described one, or a file
  std::string links, latency;        ///< as given; empty: the machine's
  std::optional<int> ranks_per_node;

  /// Throws InputError that names the option.
  placement::DataSheet sheet() const;
  placement::MachineModel chosen() const;
};

/// Adds --machine, --links, --latency and --ranks-per-node.
void add_machine_options(CLI::App& app, MachineOptions& options);

/// Adds --links, --latency and --ranks-per-node alone.
void add_link_options(CLI::App& app, MachineOptions& options);

/// Reads the value of an option. Throws InputError that begins with the option.
template <class Read>
auto option_value(const char* option, const std::string& text, const Read& read) {
  try {
    return read(text);
  } catch (const InputError& error) {
    throw InputError(std::string(option) + ": " + error.what());
  }
}

}  // namespace shardmark::workloads
