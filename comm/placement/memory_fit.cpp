// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/memory_fit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

/// Prints bytes as "1.23 GB", with a unit that suits the number.
std::string bytes_text(double bytes) {
  if (bytes >= 1e8) return fmt::format("{:.4g} GB", bytes / 1e9);
  if (bytes >= 1e5) return fmt::format("{:.4g} MB", bytes / 1e6);
  return fmt::format("{:.0f} bytes", bytes);
}

/// Holds what one rank holds of one table.
struct Part {
  std::size_t table = 0;
  double bytes = 0.0;
};

/// Returns the shards of a rank, each table once, largest first.
std::vector<Part> parts_of(const Plan& plan, std::span<const Table> tables, int rank) {
  std::vector<Part> parts;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    Part part{t};
    for (const Shard& shard : plan.tables[t].shards)
      if (shard.rank == rank)
        part.bytes += stored_bytes(stored(tables[t], plan.tables[t]), shard.rows.count(), shard.columns());
    if (part.bytes > 0.0) parts.push_back(part);
  }
  std::ranges::stable_sort(parts, std::ranges::greater{}, &Part::bytes);
  return parts;
}

/// Returns the copies that every rank has, largest first.
std::vector<Part> copies_of(const Plan& plan, std::span<const Table> tables) {
  std::vector<Part> copies;
  for (std::size_t t = 0; t < tables.size(); ++t)
    if (has_replicas(plan.tables[t])) {
      const Table table = stored(tables[t], plan.tables[t]);
      copies.push_back({t, stored_bytes(table, replicated_rows(plan.tables[t], table).count(), table.dim)});
    }
  std::ranges::stable_sort(copies, std::ranges::greater{}, &Part::bytes);
  return copies;
}

/// Returns the bytes of rows and state, by rank.
std::vector<double> bytes_of_ranks(const Plan& plan, std::span<const Table> tables) {
  double copied = 0.0;
  for (const Part& copy : copies_of(plan, tables)) copied += copy.bytes;
  std::vector<double> bytes(static_cast<std::size_t>(plan.ranks), copied);
  for (std::size_t t = 0; t < tables.size(); ++t)
    for (const Shard& shard : plan.tables[t].shards)
      bytes[shard.rank] += stored_bytes(stored(tables[t], plan.tables[t]), shard.rows.count(), shard.columns());
  return bytes;
}

}  // namespace

std::string relief(const Plan& plan, std::span<const Table> tables, int rank, std::span<const double> room) {
  const auto roomiest = std::ranges::max_element(room);
  const auto to = roomiest - room.begin();
  const auto parts = parts_of(plan, tables, rank);
  for (const Part& part : parts)
    if (to != rank && part.bytes <= *roomiest)
      return fmt::format("its largest table that could move is {}, {}, to rank {}, which has {} left",
                         tables[part.table].name, bytes_text(part.bytes), to, bytes_text(*roomiest));
  const auto copies = copies_of(plan, tables);
  if (!copies.empty() && (parts.empty() || copies.front().bytes > parts.front().bytes))
    return fmt::format("of the tables that every rank has a copy of, the largest is {}, {}",
                       tables[copies.front().table].name, bytes_text(copies.front().bytes));
  if (parts.empty()) return "it is not the tables that take them: it holds none";
  return fmt::format("no other rank has room for a table of it; split its largest, {}, {}, or use more ranks",
                     tables[parts.front().table].name, bytes_text(parts.front().bytes));
}

std::vector<std::string> memory_problems(const Plan& plan, std::span<const Table> tables,
                                         std::span<const double> needed, double available) {
  std::vector<double> room;
  for (const double bytes : needed) room.push_back(available - bytes);
  std::vector<std::string> problems;
  for (int rank = 0; rank < plan.ranks; ++rank)
    if (room[rank] < 0.0)
      problems.push_back(fmt::format("rank {} needs {} of memory, {} more than it has; {}", rank,
                                     bytes_text(needed[rank]), bytes_text(-room[rank]),
                                     relief(plan, tables, rank, room)));
  return problems;
}

std::vector<std::string> memory_problems(const Plan& plan, std::span<const Table> tables, double available) {
  return memory_problems(plan, tables, bytes_of_ranks(plan, tables), available);
}

void require_fit(const Plan& plan, std::span<const Table> tables, double available) {
  const auto problems = memory_problems(plan, tables, available);
  if (problems.empty()) return;
  const std::size_t more = problems.size() - 1;
  throw InputError(
      fmt::format("plan {}: {}{}", plan.name, problems.front(),
                  more == 0 ? "" : fmt::format(" (and {} more rank{} of it)", more, more == 1 ? "" : "s")));
}

}  // namespace shardmark::placement
