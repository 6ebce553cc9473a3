// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "workloads/net/net_case.hpp"

namespace shardmark::workloads {

/// The message without what differs from case to case: names of tables, features and planners, and numbers.
std::string reason_of(const std::string& message);

/// Cases that the program refused, by reason.
class Refusals {
 public:
  void add(const NetCase& one, const std::string& message);

  std::int64_t total() const;
  const std::map<std::string, std::int64_t>& by_reason() const { return by_reason_; }
  /// {"option=value": {"option=value": reason}}: the most frequent one of the refused cases that were given both.
  nlohmann::ordered_json reasons_of_pairs() const;

 private:
  std::map<std::string, std::int64_t> by_reason_;
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::int64_t>> by_pair_;  ///< of "option=value"
};

}  // namespace shardmark::workloads
