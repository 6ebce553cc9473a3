// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "workloads/net/net_case.hpp"
#include "workloads/net/net_setup.hpp"

namespace shardmark::workloads {

/// Counts how often each two values of different options were in effect in one case that ran. Beside the options stand
/// plan (a planner, or "drawn"), ranks, nodes and threads. Numbers are one value, "number", beside the word of their
/// option.
class Coverage {
 public:
  void add(const NetCase& one, const CaseSetup& setup);

  std::int64_t cases() const { return cases_; }
  /// Returns {"option=value": cases}.
  nlohmann::ordered_json values() const;
  /// Returns {"option=value": {"option=value": cases}}, of each two once.
  nlohmann::ordered_json pairs() const;

 private:
  std::int64_t cases_ = 0;
  std::map<std::string, std::int64_t> values_;
  std::map<std::string, std::map<std::string, std::int64_t>> pairs_;
};

/// Returns the value as coverage counts it.
std::string value_class(const Option& option, const nlohmann::ordered_json& value);

/// Returns "option=value" of all values that the tables have, those that no case had included.
std::set<std::string> all_values();

/// Returns the message without what differs from case to case: names of tables, features and planners, and numbers.
std::string reason_of(const std::string& message);

/// Counts the cases that the program refused, by reason.
class Refusals {
 public:
  void add(const NetCase& one, const std::string& message);

  std::int64_t total() const;
  const std::map<std::string, std::int64_t>& by_reason() const { return by_reason_; }
  /// Returns {"option=value": {"option=value": reason}}: the most frequent reason of the refused cases that had both
  /// values.
  nlohmann::ordered_json reasons_of_pairs() const;

 private:
  std::map<std::string, std::int64_t> by_reason_;
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::int64_t>> by_pair_;  ///< of "option=value"
};

}  // namespace shardmark::workloads
