// SPDX-License-Identifier: Apache-2.0
#include "results/usual_error.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "results/stored_errors.hpp"

namespace shardmark::results {

std::string usual_error(MachineKind kind) {
  const auto errors = nlohmann::json::parse(stored_errors.front().text);
  constexpr std::array keys{"one_node", "between_hosts", "described", "of_parts"};
  const char* key = keys[static_cast<std::size_t>(kind)];
  if (!errors.contains(key)) return "Such predictions have not been compared with measurements yet.";
  const auto& found = errors.at(key);
  const double percent = 100.0 * found.at("mean_error").get<double>();
  const auto cases = found.at("cases").get<int>();
  if (kind == MachineKind::of_parts)
    return fmt::format(
        "Predictions for machines of hardware and software are usually {:.0f} % off: of {} published steps that were "
        "known when these were described (results/measured/README.md), so measure before you buy.",
        percent, cases);
  if (kind == MachineKind::described)
    return fmt::format(
        "Predictions for described machines are usually {:.0f} % off: of {} published steps that were known when the "
        "machines were described; measure before you buy (results/measured/README.md).",
        percent, cases);
  return fmt::format(
      "Predictions for calibrated machines are usually {:.0f} % off: of {} cases of {} workloads on {} ranks{}.",
      percent, cases, found.at("workloads").get<int>(), found.at("ranks").get<int>(),
      kind == MachineKind::calibrated_between_hosts ? " between hosts" : " of one node");
}

}  // namespace shardmark::results
