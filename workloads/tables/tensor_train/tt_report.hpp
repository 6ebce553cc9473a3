// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "workloads/tables/store.hpp"

namespace shardmark::workloads {

/// These are the numbers that stores of tt tables report. prefixes.N: distinct products of the first N cores in the
/// order of contraction.
inline constexpr std::array tt_numbers{
    ReportedNumber{"lookups", "ids", ReportedNumber::Of::step},
    ReportedNumber{"rows", "distinct contracted rows", ReportedNumber::Of::step},
    ReportedNumber{"nominal_flops", "flop", ReportedNumber::Of::step},
    ReportedNumber{"executed_flops", "flop", ReportedNumber::Of::step},
    ReportedNumber{"prefixes.1", "products", ReportedNumber::Of::step},
    ReportedNumber{"prefixes.2", "products", ReportedNumber::Of::step},
    ReportedNumber{"prefixes.3", "products", ReportedNumber::Of::step},
    ReportedNumber{"prefixes.4", "products", ReportedNumber::Of::step},
    ReportedNumber{"prefixes.5", "products", ReportedNumber::Of::step},
    ReportedNumber{"prefixes.6", "products", ReportedNumber::Of::step},
    ReportedNumber{"cache.hits", "lookups", ReportedNumber::Of::timed_steps},
    ReportedNumber{"cache.stale", "lookups", ReportedNumber::Of::timed_steps},
    ReportedNumber{"cache.misses", "lookups", ReportedNumber::Of::timed_steps},
    ReportedNumber{"cache.drops", "misses", ReportedNumber::Of::timed_steps},
    ReportedNumber{"cache.evictions", "rows", ReportedNumber::Of::timed_steps},
    ReportedNumber{"cache.kept_differences", "rows", ReportedNumber::Of::end},
};

/// Returns where a number stands among tt_numbers.
constexpr std::size_t tt_number(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(tt_numbers, name, &ReportedNumber::name) - tt_numbers.begin());
}

/// Returns the object tensor_train of a record (results/tensor_train_fields.hpp). Its rates refer to the time of lookup
/// and update.
nlohmann::ordered_json tt_details(std::span<const Table> tables, std::span<const std::int64_t> numbers,
                                  const StepMilliseconds& times);

}  // namespace shardmark::workloads
