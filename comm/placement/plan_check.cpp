// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/plan_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

__extension__ using Wide = __int128;  // products of two row counts

/// Returns x with a * x = 1 modulo m, for coprime a and m >= 1 (extended Euclid).
Wide inverse_modulo(Wide a, Wide m) {
  Wide r0 = m, r1 = a % m, x0 = 0, x1 = 1;
  while (r1 > 0) {
    const Wide quotient = r0 / r1;
    std::tie(r0, r1) = std::tuple(r1, r0 - quotient * r1);
    std::tie(x0, x1) = std::tuple(x1, x0 - quotient * x1);
  }
  return ((x0 % m) + m) % m;
}

std::string hot_problem(const TablePlacement& placement, const Table& table) {
  const std::int64_t hot = placement.hot_rows;
  if (hot == 0) return {};
  if (placement.data_parallel) return fmt::format("a data_parallel table has no hot rows; leave hot_rows {} out", hot);
  if (hot < 0 || hot >= table.rows)
    return fmt::format("it has {} hot rows; they must be fewer than its {} rows, all of which data_parallel copies",
                       hot, table.rows);
  for (const Shard& shard : placement.shards) {
    if (shard.columns() < table.dim)
      return fmt::format("it has hot rows, but rank {} holds its columns {} to {} only; split it by rows", shard.rank,
                         shard.column_begin, shard.column_end);
    if (shard.rows.begin < hot)
      return fmt::format("row {} is hot, so on every rank, and again on rank {}", shard.rows.begin, shard.rank);
  }
  return {};
}

std::string shard_problem(const Shard& shard, const Table& table, int ranks) {
  const RowSet& rows = shard.rows;
  if (shard.rank < 0 || shard.rank >= ranks) return fmt::format("the ranks of this plan are 0 to {}", ranks - 1);
  if (rows.stride < 1) return fmt::format("the stride of its rows is {}; it must be at least 1", rows.stride);
  if (rows.begin < 0 || rows.end > table.rows)
    return fmt::format("its rows {} to {} leave the table of {} rows", rows.begin, rows.end, table.rows);
  if (shard.column_begin < 0 || shard.column_end > table.dim)
    return fmt::format("its columns {} to {} leave the table of {} columns", shard.column_begin, shard.column_end,
                       table.dim);
  if (rows.count() == 0 || shard.columns() <= 0)
    return fmt::format("its rows {} to {}, columns {} to {} are empty; leave the shard out", rows.begin, rows.end,
                       shard.column_begin, shard.column_end);
  return {};
}

/// Holds the shards that cover columns [begin, end) of a table, where no shard begins or ends between the two.
struct Strip {
  std::int64_t begin, end;
  std::vector<const Shard*> shards;
};

std::vector<Strip> strips_of(const std::vector<Shard>& shards, std::int64_t dim) {
  std::set<std::int64_t> cuts{0, dim};
  for (const Shard& shard : shards) cuts.insert({shard.column_begin, shard.column_end});
  std::vector<Strip> strips;
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    Strip strip{*cut, *std::next(cut), {}};
    for (const Shard& shard : shards)
      if (shard.column_begin <= strip.begin && shard.column_end >= strip.end) strip.shards.push_back(&shard);
    strips.push_back(std::move(strip));
  }
  return strips;
}

std::string doubled(const Shard& a, const Shard& b) {
  const auto row = first_common_row(a.rows, b.rows);
  return row ? fmt::format("row {} is on rank {} and again on rank {}", *row, a.rank, b.rank) : std::string();
}

/// Describes a row that two shards of the strip own, in words. Equal strides and remainders sort next to each other, so
/// that comparing neighbours suffices there; sets of different stride are compared in pairs.
std::string doubled_row(Strip& strip) {
  auto& shards = strip.shards;
  std::ranges::sort(shards, {}, [](const Shard* shard) {
    const RowSet& rows = shard->rows;
    return std::tuple(rows.stride, rows.begin % rows.stride, rows.begin);
  });
  for (std::size_t i = 1; i < shards.size(); ++i)
    if (const std::string text = doubled(*shards[i - 1], *shards[i]); !text.empty()) return text;
  for (auto first = shards.begin(); first != shards.end(); ++first) {
    const auto wider = std::ranges::upper_bound(first, shards.end(), (*first)->rows.stride, {},
                                                [](const Shard* shard) { return shard->rows.stride; });
    for (auto second = wider; second != shards.end(); ++second)
      if (const std::string text = doubled(**first, **second); !text.empty()) return text;
  }
  return {};
}

/// Counts the rows below `limit` that are hot or that the strip owns, when none is doubled.
std::int64_t owned_below(const Strip& strip, std::int64_t hot, std::int64_t limit) {
  std::int64_t owned = std::min(hot, limit);
  for (const Shard* shard : strip.shards) {
    RowSet rows = shard->rows;
    rows.end = std::min(rows.end, limit);
    owned += rows.count();
  }
  return owned;
}

/// Finds the first row that no rank owns: owned_below(x) equals x up to it and stays smaller after it.
std::string missed_row(const Strip& strip, std::int64_t hot, std::int64_t rows) {
  if (owned_below(strip, hot, rows) == rows) return {};
  std::int64_t complete = 0;
  std::int64_t incomplete = rows;
  while (incomplete - complete > 1) {
    const std::int64_t middle = std::midpoint(complete, incomplete);
    (owned_below(strip, hot, middle) == middle ? complete : incomplete) = middle;
  }
  return fmt::format("row {} is on no rank", complete);
}

void check_table(const TablePlacement& placement, const Table& table, int ranks, std::vector<std::string>& problems) {
  if (placement.data_parallel) {
    if (const std::string text = hot_problem(placement, table); !text.empty())
      problems.push_back(fmt::format("table '{}': {}", table.name, text));
    if (!placement.shards.empty())
      problems.push_back(fmt::format("table '{}', rank {}: a data_parallel table has no shards", table.name,
                                     placement.shards.front().rank));
    return;
  }
  const std::size_t before = problems.size();
  for (const Shard& shard : placement.shards)
    if (const std::string text = shard_problem(shard, table, ranks); !text.empty())
      problems.push_back(fmt::format("table '{}', rank {}: {}", table.name, shard.rank, text));
  if (problems.size() > before || table.rows <= 0 || table.dim <= 0) return;
  if (const std::string text = hot_problem(placement, table); !text.empty()) {
    problems.push_back(fmt::format("table '{}': {}", table.name, text));
    return;
  }
  for (Strip& strip : strips_of(placement.shards, table.dim)) {
    std::string text = doubled_row(strip);
    if (text.empty()) text = missed_row(strip, placement.hot_rows, table.rows);
    if (text.empty()) continue;
    problems.push_back(fmt::format("table '{}', columns {} to {}: {}", table.name, strip.begin, strip.end, text));
    return;  // the strips beside it mostly repeat the message
  }
}

}  // namespace

std::optional<std::int64_t> first_common_row(const RowSet& a, const RowSet& b) {
  // begin_a + stride_a t = begin_b (mod stride_b)  <=>  t = (begin_b - begin_a) / g * (stride_a / g)^-1 (mod stride_b /
  // g)
  const std::int64_t divisor = std::gcd(a.stride, b.stride);
  const std::int64_t apart = b.begin - a.begin;
  if (apart % divisor != 0) return std::nullopt;
  const Wide modulus = b.stride / divisor;
  Wide t = (Wide{apart / divisor} % modulus) * inverse_modulo(a.stride / divisor, modulus) % modulus;
  if (t < 0) t += modulus;
  Wide row = a.begin + a.stride * t;
  const Wide step = a.stride * modulus;
  if (row < b.begin) row += (b.begin - row + step - 1) / step * step;
  if (row >= std::min(a.end, b.end)) return std::nullopt;
  return static_cast<std::int64_t>(row);
}

std::vector<std::string> check(const Plan& plan, std::span<const Table> tables) {
  std::vector<std::string> problems;
  if (plan.ranks < 1 || plan.ranks > largest_job)
    problems.push_back(fmt::format("the plan is for {} ranks; it must be for 1 to {}", plan.ranks, largest_job));
  if (plan.tables.size() != tables.size()) {
    problems.push_back(fmt::format("the plan places {} tables, the workload has {}; make the plan anew for it",
                                   plan.tables.size(), tables.size()));
    return problems;
  }
  for (std::size_t t = 0; t < tables.size(); ++t) check_table(plan.tables[t], tables[t], plan.ranks, problems);
  return problems;
}

void require_sound(const Plan& plan, std::span<const Table> tables, std::string_view where) {
  const auto problems = check(plan, tables);
  if (problems.empty()) return;
  throw InputError(fmt::format("{}: {}{}", where, problems.front(),
                               problems.size() > 1 ? fmt::format(" (and {} more)", problems.size() - 1) : ""));
}

}  // namespace shardmark::placement
