// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/placement/plan.hpp"

namespace shardmark::workloads {

struct Case;
struct RunOptions;

/// Groups options: by their place in --help and in `shardmark list`, and by what may be done with them.
enum class OptionGroup {
  movement,    ///< of how the data of a plan move
  tables,      ///< of all tables or features; by default each is as the workload says
  of_storage,  ///< of tables of one storage (Option::storage), and so of no use without one
  ids,         ///< of ids that are generated, and so of no use with a data file
  dense,       ///< of layers that are trained, and so of no use without them
  data,        ///< of samples that are read
  run,         ///< what else makes one case another
  schedule     ///< how long and how a case is measured; no part of what it is
};

/// Is a value that has a name.
struct NamedValue {
  std::string name;
  std::string_view description;
};

/// Says which numbers are valid. word: a text that stands for the empty value of its type, 0 or none.
struct NumberRule {
  double least = 0.0;
  bool above = false;  ///< `least` itself is too small
  std::string_view word = {};
  double most = std::numeric_limits<double>::infinity();

  std::string text() const;
  /// Returns the same text for each number of a list.
  std::string list_text() const;
};

/// Describes the numbers that an option takes: one, or a list with commas between them.
struct NumberOption {
  NumberRule rule;
  bool whole = false, list = false;
};

/// Returns what `shardmark list` calls the values of a choice, by what they are: "value-types".
std::string list_name_of(std::string_view what);

/// Is one option of a case that `run` and `compare` take. The command line, `shardmark list`, the name of a case, its
/// record, the export, and through the record the table and `results diff`, read the table of these and nothing else.
struct Option {
  std::string_view name;  ///< --set NAME=...; on the command line --NAME with '-' for '_'
  std::string_view description;
  OptionGroup group;
  std::string valid = {};                   ///< "fp32, fp16", "a number of at least 1"
  std::string_view value_name = {};         ///< what stands for a value in help: "N"
  std::string_view what = {};               ///< what the named values are: "value type"
  std::vector<NamedValue> values = {};      ///< what `all` stands for in compare; empty for numbers and texts
  std::optional<NumberOption> number = {};  ///< where it takes numbers
  /// Holds texts that it takes, where they are neither names nor numbers; the first: without effect.
  std::vector<std::string_view> examples = {};
  bool several = false;                     ///< it is of a Case: compare tries several values
  std::vector<std::string_view> sets = {};  ///< the options that this one sets at once; it then has no `get`
  /// Sets the option. Throws InputError that names what is wrong with the text.
  std::function<void(RunOptions&, Case&, const std::string&)> set = {};
  /// Returns the value in effect: text, number or bool; an array of those that occur where tables or features differ.
  std::function<nlohmann::ordered_json(const RunOptions&, const Case&)> get = {};

  std::string_view of = {};  ///< the storage whose tables read it; else its name begins with that

  /// Returns the storage whose tables read an option of storages: "tt" of "tt.ranks".
  std::string_view storage() const { return of.empty() ? name.substr(0, name.find('.')) : of; }
  /// Returns the flag, "--wire-ids".
  std::string flag() const;
  std::string list_name() const { return list_name_of(what); }
  /// Returns the value without the option; empty where the workload sets it.
  std::string usual() const;
};

const std::vector<Option>& options();

/// Is an option that exists as long as this object does, for tests.
class AddedOption {
 public:
  explicit AddedOption(Option option);
  ~AddedOption();
  AddedOption(const AddedOption&) = delete;
  AddedOption& operator=(const AddedOption&) = delete;
};

/// Is an option with the requested values; several values only where the option takes them. where: "--wire-ids", "--set
/// wire_ids".
struct GivenOption {
  const Option* option;
  std::vector<std::string> values;
  std::string where;

  /// Returns the text as it was given: "--wire-ids int64", "--set wire_ids=int64".
  std::string as_given(const std::string& value) const {
    return where + (where.starts_with("--set ") ? '=' : ' ') + value;
  }
};

/// Parses "key=value", or with `several` "key=value,value" where the option takes them. Throws InputError for an
/// unknown key, listing the valid ones.
GivenOption given_setting(const std::string& text, bool several = false);

/// Sets options in their order, `cases` becoming all combinations of the values of those of a Case; the last one counts
/// where an option is given twice. Then makes exact mode exact (learning rates become powers of two). Records in
/// `run.usual` what the workload had set. Throws InputError that names the option and its valid values.
void set_options(RunOptions& run, std::vector<Case>& cases, const std::vector<GivenOption>& given);

/// Calls set_options for "key=value" texts that are not of movement, of the one case that they make.
void apply_settings(RunOptions& run, const std::vector<std::string>& assignments);

/// Returns {name: value in effect} of all options that make the case what it is. `groups` and `wire_ids` are what the
/// request comes to with this plan: a number, int32 or int64.
nlohmann::ordered_json case_options(const RunOptions& run, const Case& config, const placement::Plan& plan);
/// Returns the same of the options of the schedule.
nlohmann::ordered_json schedule_options(const RunOptions& run);
/// Returns the names of those in case_options whose value is not the workload's or the program's.
std::vector<std::string> changed_options(const RunOptions& run, const Case& config);

}  // namespace shardmark::workloads
