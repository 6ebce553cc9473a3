// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace shardmark::workloads {

/// Adds --config, by which options of `app` come from a file: TOML, a line `option = value` each, without the dashes.
void add_config(CLI::App& app);

/// Returns the names of the options of a command, without the dashes.
std::vector<std::string_view> option_names(const CLI::App& command);

/// Returns the option that was probably meant by `name`: what other systems call so, else the nearest in letters; empty
/// when there is none.
std::string_view option_meant(const CLI::App& command, std::string_view name);

/// Returns the arguments of `command` with the options of its --config files in place of these. What is also given on
/// the command line counts there alone. Throws InputError that names the file for one that cannot be read, and for a
/// key that is no option of the command.
std::vector<std::string> with_config_files(const CLI::App& command, const std::vector<std::string>& arguments);

}  // namespace shardmark::workloads
