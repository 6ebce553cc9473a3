// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shardmark::workloads {

/// Says how fast the multiprocessors of a GPU run now.
struct GpuClock {
  std::int64_t mhz = 0;
  std::string held_by;  ///< what keeps them below their highest clock, "its power limit"; empty: nothing but idleness
};

/// Asks NVIDIA's management library (NVML) for the clock of the GPU with this address on the bus, "0000:1b:00"; absent
/// where there is no such library or GPU. library: its file.
std::optional<GpuClock> gpu_clock(const std::string& address, const char* library = "libnvidia-ml.so.1");

}  // namespace shardmark::workloads
