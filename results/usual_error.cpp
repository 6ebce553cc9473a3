// SPDX-License-Identifier: Apache-2.0
#include "results/usual_error.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "results/stored_errors.hpp"

namespace shardmark::results {

std::string usual_error(bool calibrated, bool between_hosts) {
  const auto errors = nlohmann::json::parse(stored_errors.front().text);
  const char* kind = !calibrated ? "described" : between_hosts ? "between_hosts" : "one_node";
  if (!errors.contains(kind)) return "Such predictions have not been compared with measurements yet.";
  const auto& found = errors.at(kind);
  const double percent = 100.0 * found.at("mean_error").get<double>();
  const auto cases = found.at("cases").get<int>();
  if (!calibrated)
    return fmt::format(
        "Predictions for described machines are usually {:.0f} % off: of {} published steps that were known when the "
        "machines were described. Others were off by far more (results/measured/README.md), so measure before you buy.",
        percent, cases);
  return fmt::format(
      "Predictions for calibrated machines are usually {:.0f} % off: of {} cases of {} workloads on {} ranks{}.",
      percent, cases, found.at("workloads").get<int>(), found.at("ranks").get<int>(),
      between_hosts ? " between hosts" : " of one node");
}

}  // namespace shardmark::results
