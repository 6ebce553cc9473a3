// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace shardmark::results {

/// Holds the milliseconds of runs of one exchange; each is the maximum over the ranks.
struct ExchangeTime {
  double min = 0.0, median = 0.0, p99 = 0.0;
  double low = 0.0, high = 0.0;  ///< 95 % confidence interval of the median, over its turns
  std::int64_t n = 0;
  std::vector<double> samples = {};  ///< [n] in the order of measurement; empty where they were not kept

  bool operator==(const ExchangeTime&) const = default;
};

/// Holds the times of one exchange on one traffic, measured alone. docs/record.md states each field with its unit.
struct ExchangeRecord {
  std::string skew;                ///< shape of the traffic, or "matrix"
  std::int64_t bytes = 0;          ///< that a rank sends in all, itself included; the mean over the ranks
  std::int64_t busiest_bytes = 0;  ///< most that a rank sends or receives, itself included
  std::string exchange;
  std::int64_t ranks = 1;
  ExchangeTime time_ms;
  std::optional<double> ping_pong_ms = {};  ///< the limit; nothing where no bytes leave a rank
  std::int64_t wrong = 0;                   ///< bytes that arrived other than they were sent, all ranks

  /// Returns bytes per second as nccl-tests counts them: algorithm is busiest_bytes / median, and bus is that times
  /// (ranks - 1) / ranks.
  double algorithm_rate() const;
  double bus_rate() const;
  bool same_traffic(const ExchangeRecord& other) const { return skew == other.skew && bytes == other.bytes; }

  bool operator==(const ExchangeRecord&) const = default;
};

/// Writes one line of a results file.
nlohmann::ordered_json to_json(const ExchangeRecord& record);

/// Reads such a line. `origin` is "file:line". Throws InputError as case_record_from_json() does.
ExchangeRecord exchange_record_from_json(const nlohmann::ordered_json& json, const std::string& origin);

}  // namespace shardmark::results
