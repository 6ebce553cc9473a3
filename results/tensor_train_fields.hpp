// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shardmark::results {

/// These are the names of the additional fields in the record of a case with tables of Storage::tt, in an object of
/// CaseRecord::details. docs/record.md states each with its unit.
namespace tensor_train_fields {

inline constexpr char object[] = "tensor_train";

// Of the tables.
inline constexpr char tables[] = "tables";
inline constexpr char parameters[] = "parameters";
inline constexpr char compression[] = "compression";
inline constexpr char direction[] = "direction";

// Of a step, its first batch.
inline constexpr char lookups[] = "lookups";
inline constexpr char rows[] = "rows";
inline constexpr char prefixes[] = "prefixes";
inline constexpr char nominal_flops[] = "nominal_flops";
inline constexpr char executed_flops[] = "executed_flops";

// Of the time of a step.
inline constexpr char us_per_lookup[] = "us_per_lookup";
inline constexpr char us_per_lookup_of_step[] = "us_per_lookup_of_step";
inline constexpr char nominal_gflops[] = "nominal_gflops";
inline constexpr char executed_gflops[] = "executed_gflops";

// Of workloads whose lookups others published, as FBTT-Embedding did.
inline constexpr char fbtt_printed_gflops[] = "fbtt_printed_gflops";
inline constexpr char fbtt_published_us_per_lookup[] = "fbtt_published_us_per_lookup";

// Of tables with a cache, in an object of their own.
inline constexpr char cache[] = "cache";
inline constexpr char hits[] = "hits";
inline constexpr char stale[] = "stale";
inline constexpr char misses[] = "misses";
inline constexpr char drops[] = "drops";
inline constexpr char evictions[] = "evictions";
inline constexpr char hit_rate[] = "hit_rate";
inline constexpr char kept_differences[] = "kept_differences";

}  // namespace tensor_train_fields
}  // namespace shardmark::results
