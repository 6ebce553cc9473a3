// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace shardmark::results {

/// Returns in a sentence how far predictions were off, on average, where the time of a step was known:
/// results/measured/usual_errors.json, which scripts/report writes. calibrated: for a machine that was measured, else
/// for one that is known by its description.
std::string usual_error(bool calibrated, bool between_hosts);

}  // namespace shardmark::results
