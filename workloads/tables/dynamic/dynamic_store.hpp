// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "results/dynamic_fields.hpp"
#include "workloads/tables/shard_layout.hpp"
#include "workloads/tables/storages.hpp"
#include "workloads/tables/store.hpp"

namespace shardmark::workloads {

/// Makes a store of Storage::dynamic: the rows that steps have seen, as Table::dynamic lets them come and go, each at
/// the slot of its key (kernels/dynamic/). shards: numbers in the layout; layout and tables outlive the store.
std::unique_ptr<Store> make_dynamic_store(const ShardLayout& layout, const std::vector<Table>& tables,
                                          const std::vector<std::int64_t>& shards);

/// Returns the bytes beside so many rows: of keys, uses and counts of admission, and of the rows of keys that have
/// none.
double dynamic_bytes_beside(const Table& table, std::int64_t rows, std::int64_t columns);
/// Returns the bytes of a step for finding `distinct` keys among `ids`.
double dynamic_step_bytes(const Table& table, double ids, double distinct);

/// Returns the number of steps after which the table has seen all keys of so many batches.
std::int64_t steps_until_keys_are_known(const Table& table, std::int64_t batches);

/// Returns whether a checkpoint has the values of rows: those of int8 are never trained, and made again.
bool values_are_saved(const Table& table);

bool has_capacity(const Table& table);
/// Throws InputError, which says the least capacity that works, where that of a table does not hold the rows of one
/// step in each of its buckets.
void require_capacity(Table& table, std::int64_t number, const std::vector<std::int64_t>& rows);

/// Returns the most places of a shard: rows that lie at slots, and behind them those of keys that have none.
std::int64_t most_places(const Table& table, std::int64_t most_rows);

/// Names what stores of Storage::dynamic report.
enum class DynamicNumber { rows, room, key_bytes, row_bytes, keys, found, admitted, absent, evicted };
inline constexpr std::array dynamic_numbers{
    ReportedNumber{results::dynamic_fields::rows, "rows", ReportedNumber::Of::end},
    ReportedNumber{"room", "keys", ReportedNumber::Of::end},
    ReportedNumber{"key_bytes", "bytes", ReportedNumber::Of::end},
    ReportedNumber{"row_bytes", "bytes", ReportedNumber::Of::end},
    ReportedNumber{results::dynamic_fields::keys, "sum of the bits of table and key, modulo 2^64",
                   ReportedNumber::Of::end},
    ReportedNumber{results::dynamic_fields::found, "keys", ReportedNumber::Of::timed_steps},
    ReportedNumber{results::dynamic_fields::admitted, "keys", ReportedNumber::Of::timed_steps},
    ReportedNumber{results::dynamic_fields::absent, "keys", ReportedNumber::Of::timed_steps},
    ReportedNumber{results::dynamic_fields::evicted, "rows", ReportedNumber::Of::timed_steps},
};
nlohmann::ordered_json dynamic_details(std::span<const Table> tables, std::span<const std::int64_t> numbers,
                                       const StepMilliseconds& times);

}  // namespace shardmark::workloads
