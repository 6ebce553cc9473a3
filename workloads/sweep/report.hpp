// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/exchange_shapes.hpp"
#include "results/exchange_record.hpp"
#include "results/table/exchanges.hpp"
#include "workloads/sweep/exchange_sweep.hpp"

namespace shardmark::workloads {

static_assert(results::library_exchange == placement::library_exchange);

/// Makes the record of an exchange on a traffic; times in milliseconds, as in the records of cases.
inline results::ExchangeRecord record_of(const TrafficCase& traffic, const SweepLine& line) {
  results::ExchangeRecord record{.skew = traffic.skew,
                                 .bytes = traffic.bytes,
                                 .busiest_bytes = traffic.traffic.busiest(),
                                 .exchange = line.exchange,
                                 .ranks = traffic.traffic.ranks(),
                                 .time_ms = {.min = 1e3 * line.seconds.min,
                                             .median = 1e3 * line.seconds.median,
                                             .p99 = 1e3 * line.seconds.p99,
                                             .low = 1e3 * line.seconds.low,
                                             .high = 1e3 * line.seconds.high,
                                             .n = line.seconds.n,
                                             .samples = {}},
                                 .ping_pong_ms = std::nullopt,
                                 .wrong = line.wrong};
  for (const double seconds : line.samples) record.time_ms.samples.push_back(1e3 * seconds);
  if (line.least) record.ping_pong_ms = 1e3 * *line.least;
  return record;
}

}  // namespace shardmark::workloads
