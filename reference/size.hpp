// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace shardmark::reference {

struct SizeUnit {
  std::string_view name;
  std::int64_t bytes;
};
/// Are the units of sizes: KiB, MiB and GiB are powers of 1024; K, KB and so on powers of 1000.
inline constexpr std::array size_units{SizeUnit{"GiB", 1 << 30},   SizeUnit{"MiB", 1 << 20}, SizeUnit{"KiB", 1 << 10},
                                       SizeUnit{"GB", 1000000000}, SizeUnit{"MB", 1000000},  SizeUnit{"KB", 1000},
                                       SizeUnit{"G", 1000000000},  SizeUnit{"M", 1000000},   SizeUnit{"K", 1000}};

/// Returns the size as text, "512", "64KiB" or "3KB": exact, with the largest unit that divides it, of those of 1024 if
/// any does.
inline std::string size_text(std::int64_t bytes) {
  for (const SizeUnit& unit : size_units)
    if (bytes > 0 && bytes % unit.bytes == 0) return std::to_string(bytes / unit.bytes) + std::string(unit.name);
  return std::to_string(bytes);
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::size_text, reference::size_units, reference::SizeUnit;
}  // namespace shardmark
