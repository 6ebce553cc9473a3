// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardmark {

/// "65536", "64K", "1K:16M" (each size twice the one before) or "1K:16M:4": begin, begin * factor, ... up to and
/// including `end` where it is hit. K, M and G are powers of 1024. Throws InputError naming the text.
std::vector<std::int64_t> parse_sizes(std::string_view text);

/// "512", "64K", "16M", "1G": exact, with the largest unit that divides it.
std::string size_text(std::int64_t bytes);

}  // namespace shardmark
