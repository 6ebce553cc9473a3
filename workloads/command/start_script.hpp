// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "reference/error.hpp"

namespace shardmark::workloads {

/// Returns the path of this program.
inline std::filesystem::path this_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

/// Replaces this program by a script, such as "measured/plots.py", of the folder share/shardmark/scripts beside it,
/// where it was built or installed; `with` is what its Python must have (scripts/python). Throws InputError naming
/// `command` where there is none.
[[noreturn]] inline void start_script(const std::string& command, const std::string& with, const std::string& script,
                                      const std::vector<std::string>& arguments) {
  const std::filesystem::path scripts = this_program().parent_path().parent_path() / "share/shardmark/scripts";
  const std::string python = scripts / "python", file = scripts / script;
  if (!std::filesystem::exists(python) || !std::filesystem::exists(file))
    throw InputError(
        fmt::format("{}: there is no {}: start the program where it was built or installed", command, file));
  std::vector<std::string> words{python, "--with", with, file};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::fflush(nullptr);
  execv(python.c_str(), argv.data());
  throw InputError(fmt::format("{}: cannot start {}: {}", command, python, std::strerror(errno)));
}

}  // namespace shardmark::workloads
