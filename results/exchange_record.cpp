// SPDX-License-Identifier: Apache-2.0
#include "results/exchange_record.hpp"

#include "results/json_fields.hpp"

namespace shardmark::results {

double ExchangeRecord::algorithm_rate() const { return 1e3 * static_cast<double>(busiest_bytes) / time_ms.median; }

double ExchangeRecord::bus_rate() const {
  const auto count = static_cast<double>(ranks);
  return algorithm_rate() * (count - 1) / count;
}

nlohmann::ordered_json to_json(const ExchangeRecord& record) {
  nlohmann::ordered_json time{{"min", record.time_ms.min},   {"median", record.time_ms.median},
                              {"p99", record.time_ms.p99},   {"low", record.time_ms.low},
                              {"high", record.time_ms.high}, {"n", record.time_ms.n}};
  if (!record.time_ms.samples.empty()) time["samples"] = record.time_ms.samples;
  return {{"record", "exchange"},
          {"skew", record.skew},
          {"bytes", record.bytes},
          {"busiest_bytes", record.busiest_bytes},
          {"exchange", record.exchange},
          {"ranks", record.ranks},
          {"time_ms", std::move(time)},
          {"algbw_bytes_per_s", record.algorithm_rate()},
          {"busbw_bytes_per_s", record.bus_rate()},
          {"ping_pong_ms", record.ping_pong_ms ? nlohmann::ordered_json(*record.ping_pong_ms) : nullptr},
          {"wrong", record.wrong}};
}

ExchangeRecord exchange_record_from_json(const nlohmann::ordered_json& json, const std::string& origin) {
  const Fields fields(json, origin);
  const Fields time = fields.object("time_ms");
  ExchangeRecord record{.skew = fields.text("skew"),
                        .bytes = fields.count("bytes", 0),
                        .busiest_bytes = fields.count("busiest_bytes", 0),
                        .exchange = fields.text("exchange"),
                        .ranks = fields.count("ranks", 1),
                        .time_ms = {.min = time.number("min"),
                                    .median = time.number("median"),
                                    .p99 = time.number("p99"),
                                    .low = time.number("low"),
                                    .high = time.number("high"),
                                    .n = time.count("n", 1),
                                    .samples = {}},
                        .ping_pong_ms = fields.maybe_number("ping_pong_ms"),
                        .wrong = fields.count("wrong", 0)};
  if (!(record.time_ms.median > 0.0)) time.fail("time_ms.median", "above 0");
  if (json.at("time_ms").contains("samples")) record.time_ms.samples = time.numbers("samples");
  return record;
}

}  // namespace shardmark::results
