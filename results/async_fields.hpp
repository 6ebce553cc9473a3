// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shardmark::results {

/// These are the names of the additional fields in the record of a case whose steps are prefetched, in an object of
/// CaseRecord::details. docs/record.md states each with its unit.
namespace async_fields {

inline constexpr char object[] = "pipeline";

inline constexpr char pool[] = "pool";              ///< who prepares batches
inline constexpr char processing_units[] = "cpus";  ///< by rank, that the threads are bound to; absent: to none
inline constexpr char threads[] = "threads";        ///< 0 in pool inline
inline constexpr char capacity[] = "capacity";
inline constexpr char bound[] = "staleness_bound";        ///< absent where no rows are prefetched
inline constexpr char overtaking[] = "steps_overtaking";  ///< share of all; absent in the order of the input
inline constexpr char staleness[] = "staleness";          ///< with p50, p99, max and counts by staleness
inline constexpr char depth[] = "queue_depth";            ///< with mean and max
inline constexpr char p50[] = "p50";
inline constexpr char p99[] = "p99";
inline constexpr char max[] = "max";
inline constexpr char mean[] = "mean";
inline constexpr char counts[] = "counts";
inline constexpr char stalls[] = "stall_ms";  ///< per step or batch, of the slowest rank
inline constexpr char batch[] = "batch";      ///< a step waits for its batch
inline constexpr char update[] = "update";    ///< an update waits for a lookup
inline constexpr char place[] = "place";      ///< a thread waits for a free place
inline constexpr char turn[] = "turn";        ///< a lookup waits for its turn and its bound
inline constexpr char version[] = "version";  ///< a lookup waits for the version that was agreed on
inline constexpr char read_ms[] = "read_ms";  ///< per batch; absent where batches are in memory
inline constexpr char prepare_ms[] = "prepare_ms";
inline constexpr char main_ms[] = "main_ms";
inline constexpr char predicted_ms[] = "formula_ms";  ///< max(prepare_ms / threads, main_ms); inline their sum
inline constexpr char error[] = "formula_error";      ///< predicted / measured - 1
inline constexpr char again[] = "vectors_again";      ///< share of the vectors that were looked up and sent again
inline constexpr char buffered_bytes[] = "buffered_bytes_max";

}  // namespace async_fields
}  // namespace shardmark::results
