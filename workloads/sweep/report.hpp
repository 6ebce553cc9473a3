// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "results/exchange_record.hpp"
#include "workloads/sweep/exchange_sweep.hpp"

namespace shardmark::workloads {

/// Makes the record of an exchange on a traffic; times in milliseconds, as in the records of cases.
results::ExchangeRecord record_of(const TrafficCase& traffic, const SweepLine& line);

}  // namespace shardmark::workloads
