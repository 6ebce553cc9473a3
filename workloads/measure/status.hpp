// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace shardmark::workloads {

/// Receives messages about the progress, for people who wait.
using Status = std::function<void(const std::string&)>;

}  // namespace shardmark::workloads
