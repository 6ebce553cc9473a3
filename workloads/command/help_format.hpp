// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace shardmark::workloads {

/// Prints --help of `app`, and of the commands that are added to it later, on lines of at most 100 columns: an option
/// with the kind of its value, what it does, and in brackets its default.
void format_help(CLI::App& app);

/// Lets --help of `app` print the options of these names alone, and --help-all all of them. examples: commands and what
/// they are for, behind the options of --help.
void shorten_help(CLI::App& app, std::span<const std::string_view> names, std::string_view examples);

}  // namespace shardmark::workloads
