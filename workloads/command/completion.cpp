// SPDX-License-Identifier: Apache-2.0
// What is generated from the commands and their options: completions of shells, and a man page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "reference/named.hpp"
#include "workloads/cases/option_table.hpp"
#include "workloads/command/command.hpp"

namespace shardmark::workloads {
namespace {

struct Words {
  std::string path;  ///< "shardmark plan create"
  std::string description;
  std::vector<const CLI::Option*> options;  ///< with a name that begins with --
  std::vector<std::string> commands;        ///< that may follow
  const CLI::App* app;
};

void collect(const CLI::App& app, const std::string& before, std::vector<Words>& all) {
  Words words{before + app.get_name(), app.get_description(), {}, {}, &app};
  for (const CLI::Option* option : app.get_options())
    if (option->nonpositional() && !option->get_lnames().empty()) words.options.push_back(option);
  const auto commands = app.get_subcommands([](const CLI::App* each) { return !each->get_name().empty(); });
  for (const CLI::App* command : commands) words.commands.push_back(command->get_name());
  all.push_back(words);
  for (const CLI::App* command : commands) collect(*command, words.path + ' ', all);
}

std::vector<Words> words_of(const CLI::App& program) {
  std::vector<Words> all;
  collect(program, "", all);
  return all;
}

/// Returns the list of `shardmark list` that an option takes its values from; empty if there is none.
std::string list_of(std::string_view flag) {
  for (const Option& option : options())
    if (option.flag() == flag && !option.values.empty()) return option.list_name();
  if (flag == "--plan") return "planners";
  if (flag == "--machine") return "machines";
  if (flag == "--published") return "published";
  if (flag == "--skew") return "skews";
  if (flag == "--workload") return "workloads";
  return "";
}

std::string flags_of(const Words& words) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : words.options)
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return fmt::format("{}", fmt::join(flags, " "));
}

bool takes(const Words& words, std::string_view positional) {
  for (const CLI::Option* option : words.app->get_options())
    if (option->get_name(true) == positional && option->get_positional()) return true;
  return false;
}

/// Values that begin a list with commas are completed behind the last comma.
std::string bash(const std::vector<Words>& all) {
  std::string out = R"(_shardmark_list() { shardmark list "$1" 2>/dev/null | sed -n 's/^  \([^ :]*\).*/\1/p'; }
_shardmark() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path=shardmark word words=
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
)";
  std::vector<std::string> paths;
  for (const Words& words : all)
    if (words.path.find(' ') != words.path.npos) paths.push_back('"' + words.path + '"');
  out += fmt::format("      {}) path=\"$path $word\" ;;\n    esac\n  done\n  case \"$before\" in\n",
                     fmt::join(paths, "|"));
  std::vector<std::string> done;
  for (const Words& words : all)
    for (const CLI::Option* option : words.options) {
      const std::string flag = option->get_name(), list = list_of(flag);
      if (list.empty() || std::ranges::find(done, flag) != done.end()) continue;
      done.push_back(flag);
      out += fmt::format("    {}) words=$(_shardmark_list {}) ;;\n", flag, list);
    }
  out += R"(  esac
  if [ -n "$words" ]; then
    local first=
    case "$current" in *,*) first=${current%,*}, ;; esac
    COMPREPLY=($(compgen -P "$first" -W "$words" -- "${current##*,}") $(compgen -f -- "$current"))
    return
  fi
  case "$path" in
)";
  for (const Words& words : all) {
    const bool workload = takes(words, "WORKLOAD"), lists = words.path == "shardmark list";
    out +=
        fmt::format("    \"{}\") words=\"{} {}{}\" ;;\n", words.path, fmt::join(words.commands, " "), flags_of(words),
                    workload ? " $(_shardmark_list workloads)"
                    : lists  ? " all $(_shardmark_list)"
                             : "");
  }
  out += R"(  esac
  COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
}
complete -o nosort -F _shardmark shardmark
)";
  return out;
}

std::string zsh(const std::vector<Words>& all) {
  return "#compdef shardmark\nautoload -U +X bashcompinit && bashcompinit\n" + bash(all);
}

std::string quoted(std::string text) {
  std::string out = "'";
  for (const char c : text.substr(0, text.find('\n'))) out += c == '\'' ? std::string("\\'") : std::string(1, c);
  return out + "'";
}

std::string fish(const std::vector<Words>& all) {
  std::string out =
      "function __shardmark_list; shardmark list $argv 2>/dev/null | string match -rg '^  ([^ :]+)'; end\n"
      "function __shardmark_at; set -l words (commandline -opc); set -l given (string match -v -- '-*' $words[2..]);\n"
      "  test \"$given[1..\"(count $argv)\"]\" = \"$argv\"; end\n";
  for (const Words& words : all) {
    const std::string at = words.path.substr(std::min(words.path.find(' '), words.path.size()));
    const std::string when = at.empty() ? "__fish_use_subcommand" : "__shardmark_at" + at;
    for (const Words& next : all)
      if (next.path.starts_with(words.path + ' ') && next.path.find(' ', words.path.size() + 1) == next.path.npos)
        out += fmt::format("complete -c shardmark -n '{}' -a {} -d {}\n", when, next.app->get_name(),
                           quoted(next.description));
    for (const CLI::Option* option : words.options) {
      const std::string list = list_of(option->get_name());
      const std::string values = list.empty() ? "" : fmt::format(" -a '(__shardmark_list {})'", list);
      for (const std::string& name : option->get_lnames())
        out += fmt::format("complete -c shardmark -n '{}' -l {}{}{} -d {}\n", when, name,
                           option->get_expected_max() == 0 ? "" : " -r", values, quoted(option->get_description()));
    }
    if (takes(words, "WORKLOAD"))
      out += fmt::format("complete -c shardmark -n '{}' -a '(__shardmark_list workloads)'\n", when);
  }
  return out + "complete -c shardmark -n '__shardmark_at list' -f -a 'all (__shardmark_list)'\n";
}

/// Returns text as roff reads it.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\\' ? "\\e" : c == '-' ? "\\-" : c == '\n' ? "\n.br\n" : std::string(1, c);
  return out;
}

std::string man(const std::vector<Words>& all) {
  std::string out = fmt::format(".TH SHARDMARK 1\n.SH NAME\nshardmark \\- {}\n", roff(all.front().description));
  for (const Words& words : all) {
    out += fmt::format(".SH {}\n{}\n", roff(words.path), roff(words.description));
    for (const CLI::Option* option : words.app->get_options()) {
      const bool positional = option->get_positional() && !option->nonpositional();
      const std::string name = positional ? option->get_name(true) : option->get_name(false, true);
      const std::string usual =
          option->get_default_str().empty() ? "" : " (default: " + option->get_default_str() + ")";
      out += fmt::format(".TP\n.B {}\n{}\n", roff(name), roff(option->get_description() + usual));
    }
  }
  return out;
}

struct Generated {
  std::string_view name, description;
  std::string (*text)(const std::vector<Words>& all);
};
constexpr std::array generated{
    Generated{"bash", "for ~/.local/share/bash-completion/completions/shardmark", bash},
    Generated{"zsh", "for a file _shardmark in a folder of $fpath", zsh},
    Generated{"fish", "for ~/.config/fish/completions/shardmark.fish", fish},
    Generated{"man", "a man page, for ~/.local/share/man/man1/shardmark.1", man},
};

}  // namespace

void define_completion(CLI::App& app) {
  const auto wanted = std::make_shared<std::string>();
  app.add_option("SHELL", *wanted, described("what is printed", generated))->required();
  app.callback([&app, wanted] {
    fmt::print("{}", choice_named(generated, "shell", *wanted).text(words_of(*app.get_parent())));
  });
}

void define_help(CLI::App& app) {
  const auto wanted = std::make_shared<std::vector<std::string>>();
  app.add_option("COMMAND", *wanted, "a command, such as run, or plan create");
  app.callback([&app, wanted] {
    const CLI::App* of = app.get_parent();
    for (const std::string& word : *wanted) {
      std::vector<Generated> choices;
      const auto commands = of->get_subcommands([](const CLI::App*) { return true; });
      for (const CLI::App* each : commands) choices.push_back({each->get_name(), "", nullptr});
      choice_named(choices, "command", word);
      of = *std::ranges::find(commands, word, [](const CLI::App* each) { return each->get_name(); });
    }
    fmt::print("{}", of->get_formatter()->make_help(of, "", CLI::AppFormatMode::Normal));
  });
}

}  // namespace shardmark::workloads
