// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace shardmark::kernels {

/// What a kernel must move and compute at least: a row that is used many times is read once, caches being perfect.
/// Rates are this divided by the time, so that no rate can exceed the machine's by reuse alone.
struct Work {
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  std::int64_t flops = 0;

  constexpr std::int64_t bytes() const { return bytes_read + bytes_written; }
  bool operator==(const Work&) const = default;
};

constexpr Work operator+(const Work& a, const Work& b) {
  return {a.bytes_read + b.bytes_read, a.bytes_written + b.bytes_written, a.flops + b.flops};
}

}  // namespace shardmark::kernels
