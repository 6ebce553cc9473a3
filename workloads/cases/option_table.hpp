// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/placement/plan.hpp"

namespace shardmark::workloads {

struct Case;
struct RunOptions;

/// Where an option belongs: its place in --help and in `shardmark list`, and what may be done with it.
enum class OptionGroup {
  movement,    ///< of how the data of a plan move
  tables,      ///< of all tables or features; by default each is as the workload says
  of_storage,  ///< of tables of the storage that its name begins with, and so of no use without one
  ids,         ///< of ids that are generated, and so of no use with a data file
  dense,       ///< of layers that are trained, and so of no use without them
  data,        ///< of samples that are read
  run,         ///< what else makes one case another
  schedule     ///< how long and how a case is measured; no part of what it is
};

/// A value that has a name.
struct NamedValue {
  std::string name;
  std::string_view description;
};

/// What a number may be. word: a text that stands for the empty value of its type, 0 or none.
struct NumberRule {
  double least = 0.0;
  bool above = false;  ///< `least` itself is too small
  std::string_view word = {};

  std::string text() const;
  /// The same of each number of a list.
  std::string list_text() const;
};

/// The numbers that an option takes: one, or a list with commas between them.
struct NumberOption {
  NumberRule rule;
  bool whole = false, list = false;
};

/// Anything that `run` and `compare` can be told of a case. The command line, `shardmark list`, the name of a case, its
/// record, the export, and through the record the table and `results diff`, read the table of these and nothing else.
struct Option {
  std::string_view name;  ///< --set NAME=...; on the command line --NAME with '-' for '_'
  std::string_view description;
  OptionGroup group;
  std::string valid = {};                   ///< "fp32, fp16", "a number of at least 1"
  std::string_view what = {};               ///< what the named values are: "value type"
  std::vector<NamedValue> values = {};      ///< what `all` stands for in compare; empty for numbers and texts
  std::optional<NumberOption> number = {};  ///< where it takes numbers
  bool several = false;                     ///< it is of a Case: compare tries several values
  std::string_view other_flag = {};         ///< a second spelling on the command line
  std::vector<std::string_view> sets = {};  ///< the options that this one sets at once; it then has no `get`
  /// Throws InputError that says what is wrong with the text.
  std::function<void(RunOptions&, Case&, const std::string&)> set = {};
  /// The value in effect: text, number or bool; an array of those that occur where tables or features differ.
  std::function<nlohmann::ordered_json(const RunOptions&, const Case&)> get = {};

  /// "--wire-ids".
  std::string flag() const;
  /// "value-types": what `shardmark list` calls its named values.
  std::string list_name() const;
  /// What holds when nothing is said; empty where the workload says it.
  std::string usual() const;
};

const std::vector<Option>& options();

/// An option that exists as long as this does, for tests.
class AddedOption {
 public:
  explicit AddedOption(Option option);
  ~AddedOption();
  AddedOption(const AddedOption&) = delete;
  AddedOption& operator=(const AddedOption&) = delete;
};

/// What was asked for; several values only where the option takes them. where: "--wire-ids", "--set wire_ids".
struct GivenOption {
  const Option* option;
  std::vector<std::string> values;
  std::string where;

  /// "--wire-ids int64", "--set wire_ids=int64".
  std::string said(const std::string& value) const { return where + (where.starts_with("--set ") ? '=' : ' ') + value; }
};

/// Of "key=value", or with `several` "key=value,value" where the option takes them. Throws InputError for an unknown
/// key, printing the valid ones.
GivenOption given_setting(const std::string& text, bool several = false);

/// Sets options in their order, `cases` becoming all combinations of the values of those of a Case; the last one counts
/// where an option is given twice. Then makes exact mode exact (learning rates become powers of two). Remembers
/// in `run.usual` what the workload had said. Throws InputError that names the option and its valid values.
void set_options(RunOptions& run, std::vector<Case>& cases, const std::vector<GivenOption>& given);

/// set_options for "key=value" texts that are not of movement, of the one case that they make.
void apply_settings(RunOptions& run, const std::vector<std::string>& assignments);

/// {name: value in effect} of all options that make the case what it is. `groups` and `wire_ids` are what was asked for
/// comes to with this plan: a number, int32 or int64.
nlohmann::ordered_json case_options(const RunOptions& run, const Case& how, const placement::Plan& plan);
/// The same of those of the schedule.
nlohmann::ordered_json schedule_options(const RunOptions& run);
/// The names of those in case_options whose value is not the workload's or the program's.
std::vector<std::string> changed_options(const RunOptions& run, const Case& how);

}  // namespace shardmark::workloads
