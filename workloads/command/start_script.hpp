// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace shardmark::workloads {

/// Returns the path of this program.
std::filesystem::path this_program();

/// Replaces this program by a script, such as "measured/plots.py", of the folder share/shardmark/scripts beside it,
/// where it was built or installed; `with` is what its Python must have (scripts/python). Throws InputError naming
/// `command` where there is none.
[[noreturn]] void start_script(const std::string& command, const std::string& with, const std::string& script,
                               const std::vector<std::string>& arguments);

}  // namespace shardmark::workloads
