// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace shardmark::datasets {

/// Where the fields of one line go.
struct CriteoLine {
  std::uint8_t label = 0;
  float* dense = nullptr;        ///< [13]
  std::uint32_t categories[26];  ///< the hex values, 0 when missing
  std::uint64_t missing = 0;     ///< bit f: field f is empty
};

/// Scans [begin, end), a line without its end; *end must be readable and neither a digit nor a hex digit.
/// False when the line is malformed; parts of `line` are then overwritten.
bool parse_criteo_line(const char* begin, const char* end, bool labelled, CriteoLine& line);

/// What is wrong with a line that parse_criteo_line refused: names the field and quotes it.
std::string explain_criteo_line(const char* begin, const char* end, bool labelled);

}  // namespace shardmark::datasets
