// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace shardmark::workloads {

/// Parses "65536", "64KiB", "1KiB:16MiB" (each size twice the one before) or "1KiB:16MiB:4": begin, begin * factor, ...
/// up to and including `end` where it is hit. KiB, MiB and GiB are powers of 1024; K, KB and so on powers of 1000.
/// Throws InputError naming the text.
std::vector<std::int64_t> parse_sizes(std::string_view text);

}  // namespace shardmark::workloads
