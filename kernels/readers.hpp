// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace shardmark::kernels {

/// Outputs of a launch of at least so many bytes are written past the caches; what is less is read there soon, by an
/// exchange or an update (TUNING.md).
inline constexpr std::int64_t streamed_output = 4 << 20;

/// Says whether the cores that read what a kernel writes share a cache with its own. Where they do not, a line that
/// they have read must be taken from them before it is written in a cache, which takes several times as long as to
/// write past the caches (TUNING.md). Devices write all alike.
enum class Readers { near, far };

/// Returns from how many bytes on a copy for such readers is written past the caches.
constexpr std::int64_t streamed_copy(Readers readers) { return readers == Readers::near ? streamed_output : 256 << 10; }

}  // namespace shardmark::kernels
