// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shardmark::results {

/// These are the names of the additional fields in the record of a case with tables of Storage::dynamic, in an object
/// of CaseRecord::details. docs/record.md states each with its unit.
namespace dynamic_fields {

inline constexpr char object[] = "dynamic";
inline constexpr char tables[] = "tables";

// In the end.
inline constexpr char rows[] = "rows";
inline constexpr char keys[] = "keys";
inline constexpr char load[] = "load";
inline constexpr char bytes_per_row[] = "bytes_per_row";
inline constexpr char key_bytes_per_row[] = "key_bytes_per_row";

// Of the timed steps.
inline constexpr char found[] = "found";
inline constexpr char admitted[] = "admitted";
inline constexpr char absent[] = "absent";
inline constexpr char evicted[] = "evicted";

}  // namespace dynamic_fields
}  // namespace shardmark::results
