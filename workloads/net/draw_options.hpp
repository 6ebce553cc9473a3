// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/net/draw.hpp"
#include "workloads/net/net_case.hpp"

namespace shardmark::workloads {

/// Files that options whose value is a file may name, by option.
using NetFiles = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Whether the net draws it: every option that makes a case what it is, but defects that are committed on purpose.
bool is_drawn(const Option& option);

/// A value of the option: one of those it names, or a number that its rule allows, most of them small. `usual`: the
/// value that holds where none is given.
std::string draw_value(Draw& draw, const Option& option, const nlohmann::ordered_json& usual, const NetFiles& files);

/// Some of the options of the table that the net draws, those of movement more often than the others.
nlohmann::ordered_json draw_options(Draw& draw, const nlohmann::ordered_json& workload, const NetFiles& files);

}  // namespace shardmark::workloads
