// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/help_format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <vector>

namespace shardmark::workloads {
namespace {

constexpr std::size_t help_width = 100, first_column = 26;

/// Returns a line of text in lines of at most `columns`, which end at blanks, or within long words at a sign; those
/// behind the first begin with `indent`.
void add_wrapped(std::string line, std::size_t columns, const std::string& indent, std::vector<std::string>& lines) {
  while (line.size() > columns) {
    std::size_t at = line.rfind(' ', columns), next = at + 1;
    if (at == line.npos || line.find_first_not_of(' ') > at) {
      const std::size_t sign = line.find_last_of("+,=", columns - 1);
      at = next = sign == line.npos ? columns : sign + 1;
    }
    lines.push_back(line.substr(0, at));
    line = indent + line.substr(next);
  }
  lines.push_back(std::move(line));
}

/// Returns the lines of a text; of one that is a list, a line each, what does not fit stands further to the right.
std::vector<std::string> lines_of(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  const bool list = text.find('\n') != text.npos;
  for (bool more = true; more;) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    more = end != text.npos;
    text.remove_prefix(more ? end + 1 : text.size());
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    add_wrapped(std::string(line), columns, list ? std::string(begin + 4, ' ') : "", lines);
  }
  return lines;
}

/// Returns "  --batch N    samples per step", its text in a column of its own.
std::string entry(const std::string& name, std::string_view text) {
  std::string out = "  " + name;
  bool beside = out.size() + 2 <= first_column;
  for (const std::string& line : lines_of(text, help_width - first_column)) {
    if (beside)
      out.resize(first_column, ' ');
    else
      out += '\n' + std::string(first_column, ' ');
    out += line;
    beside = false;
  }
  return out + '\n';
}

/// Returns what stands for the value of an option: "N" or "X" for a number, what its definition says, or its name.
std::string value_name(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.starts_with("INT") || type.starts_with("UINT")) return "N";
  if (type.starts_with("FLOAT")) return "X";
  if (!type.starts_with("TEXT")) return type;
  std::string name = option.get_name().substr(2);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() = default;
  HelpFormatter(std::span<const std::string_view> names, std::string_view examples)
      : names_(names.begin(), names.end()), examples_(examples) {}

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    const bool some = mode == CLI::AppFormatMode::Normal && !names_.empty();
    std::string out;
    for (const std::string& line : lines_of(app->get_description(), help_width)) out += line + '\n';
    out += make_usage(app, std::move(name)) + make_positionals(app);
    std::size_t left_out = 0;
    std::string of_groups;
    for (const std::string& group : app->get_groups()) {
      auto members = app->get_options([&](const CLI::Option* each) {
        return each->get_group() == group && each->nonpositional() && !group.empty();
      });
      if (some) left_out += std::erase_if(members, [&](const CLI::Option* each) { return !is_common(*each); });
      if (!members.empty()) of_groups += make_group(group, false, std::move(members));
    }
    out += of_groups + make_subcommands(app, mode);
    if (some) out += fmt::format("\n{} more options: --help-all\n\n{}", left_out, examples_);
    if (!some && !app->get_footer().empty()) {
      out += '\n';
      for (const std::string& line : lines_of(app->get_footer(), help_width)) out += line + '\n';
    }
    return out;
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string name = is_positional ? option->get_name(true, false) : option->get_name(false, true);
    std::ranges::replace(name, ',', '|');
    const bool takes_value = option->get_expected_max() > 0;
    const bool list = option->get_expected_max() == CLI::detail::expected_max_vector_size;
    if (takes_value && !is_positional) name += ' ' + value_name(*option) + (list ? ",..." : "");
    if (takes_value && is_positional && list) name += " ...";
    std::string text = option->get_description();
    std::vector<std::string> notes;
    if (takes_value && !option->get_default_str().empty())
      notes.push_back(fmt::format("default: {}", option->get_default_str()));
    if (!option->get_envname().empty())
      notes.push_back(fmt::format("or in the environment: {}", option->get_envname()));
    if (!option->get_excludes().empty()) {
      std::vector<std::string> others;
      for (const CLI::Option* other : option->get_excludes()) others.push_back(other->get_name());
      notes.push_back(fmt::format("not beside {}", fmt::join(others, ", ")));
    }
    if (!notes.empty()) text += fmt::format(" ({})", fmt::join(notes, "; "));
    return entry(name, text);
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_name(), command->get_description());
  }

  std::string make_usage(const CLI::App* app, std::string) const override {
    std::string path;
    for (const CLI::App* each = app; each != nullptr; each = each->get_parent())
      path = each->get_name() + (path.empty() ? "" : " ") + path;
    path += " [OPTIONS]";
    for (const CLI::Option* each : app->get_options([](const CLI::Option* o) { return o->get_positional(); }))
      path += ' ' + make_option_usage(each);
    return fmt::format("Usage: {}{}\n", path, app->get_subcommands({}).empty() ? "" : " COMMAND");
  }

 private:
  bool is_common(const CLI::Option& option) const {
    return option.get_name().starts_with("--help") || std::ranges::find(names_, option.get_name()) != names_.end();
  }

  std::vector<std::string_view> names_;
  std::string_view examples_;
};

}  // namespace

void format_help(CLI::App& app) {
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->label("Subcommands", "Commands");
  app.formatter(formatter);
  app.set_help_flag("-h,--help", "print this and stop");
}

void shorten_help(CLI::App& app, std::span<const std::string_view> names, std::string_view examples) {
  app.formatter(std::make_shared<HelpFormatter>(names, examples));
  app.set_help_all_flag("--help-all", "print all options and stop");
}

}  // namespace shardmark::workloads
