// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/config_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "reference/error.hpp"
#include "reference/named.hpp"

namespace shardmark::workloads {
namespace {

const CLI::Option* option_called(const CLI::App& command, const std::string& name) {
  for (const CLI::Option* option : command.get_options())
    if (std::ranges::count(option->get_lnames(), name) > 0 && name != "config") return option;
  return nullptr;
}

bool is_given(const std::vector<std::string>& arguments, const CLI::Option& option) {
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return argument.starts_with("--") &&
           std::ranges::count(option.get_lnames(), argument.substr(2, argument.find('=') - 2)) > 0;
  });
}

/// {What PyTorch, TorchRec, HugeCTR and their users say, the option}.
constexpr std::pair<std::string_view, std::string_view> other_words[] = {
    {"lr", "learning-rate"},      {"batch-size", "batch"},     {"bs", "batch"},         {"iterations", "steps"},
    {"iters", "steps"},           {"num-iterations", "steps"}, {"num-steps", "steps"},  {"precision", "dtype"},
    {"data-type", "dtype"},       {"sharding", "plan"},        {"planner", "plan"},     {"strategy", "plan"},
    {"placement", "plan"},        {"output", "out"},           {"backend", "exchange"}, {"embedding-dim", "dim"},
    {"pooling-factor", "hotness"}};

std::vector<std::string> arguments_of(const std::string& file, const CLI::App& command,
                                      const std::vector<std::string>& given) {
  std::vector<std::string> arguments;
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_file(file);
  } catch (const CLI::Error&) {
    throw InputError(fmt::format("--config {}: cannot be read", file));
  }
  for (const CLI::ConfigItem& item : items) {
    std::string name = item.fullname();
    std::erase(name, '"');  // TOML has them around a key with a dot
    std::ranges::replace(name, '_', '-');
    const CLI::Option* option = option_called(command, name);
    if (option == nullptr) {
      const std::string_view meant = option_meant(command, name);
      throw InputError(fmt::format("--config {}: '{}' is no option of {}{}", file, item.fullname(), command.get_name(),
                                   meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant)));
    }
    if (is_given(given, *option)) continue;
    if (option->get_expected_max() > 0)
      arguments.insert(arguments.end(), {"--" + name, fmt::format("{}", fmt::join(item.inputs, ","))});
    else if (item.inputs == std::vector<std::string>{"true"})
      arguments.push_back("--" + name);
  }
  return arguments;
}

}  // namespace

std::string_view option_meant(const CLI::App& command, std::string_view name) {
  const std::vector<std::string_view> valid = option_names(command);
  const auto* word = std::ranges::find(other_words, name, &std::pair<std::string_view, std::string_view>::first);
  if (word != std::end(other_words) && std::ranges::find(valid, word->second) != valid.end()) return word->second;
  return nearest_name(name, valid);
}

std::vector<std::string_view> option_names(const CLI::App& command) {
  std::vector<std::string_view> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  return names;
}

void add_config(CLI::App& app) {
  app.add_option_function<std::string>(
         "--config", [](const std::string&) {},
         "options from a file of lines such as `plan = \"row_wise\"` (TOML); those of the "
         "command line go before")
      ->type_name("FILE");
}

std::vector<std::string> with_config_files(const CLI::App& command, const std::vector<std::string>& arguments) {
  if (command.get_option_no_throw("--config") == nullptr) return arguments;
  std::vector<std::string> all;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string file;
    if (arguments[i] == "--config" && i + 1 < arguments.size())
      file = arguments[++i];
    else if (arguments[i].starts_with("--config="))
      file = arguments[i].substr(arguments[i].find('=') + 1);
    if (file.empty()) {
      all.push_back(arguments[i]);
      continue;
    }
    const std::vector<std::string> read = arguments_of(file, command, arguments);
    all.insert(all.end(), read.begin(), read.end());
  }
  return all;
}

}  // namespace shardmark::workloads
