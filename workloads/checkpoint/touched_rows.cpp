// SPDX-License-Identifier: Apache-2.0
#include "workloads/checkpoint/touched_rows.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <span>

#include "comm/collectives.hpp"
#include "reference/sort_distinct.hpp"
#include "reference/storage.hpp"

namespace shardmark::workloads {

namespace {

constexpr std::int64_t word_rows = 64;

/// Returns the numbers of the bits that are set.
std::vector<std::int64_t> numbers_of(std::span<const std::int64_t> words) {
  std::int64_t count = 0;
  for (const std::int64_t word : words) count += std::popcount(static_cast<std::uint64_t>(word));
  std::vector<std::int64_t> numbers;
  numbers.reserve(static_cast<std::size_t>(count));
  for (std::int64_t w = 0; w < std::ssize(words); ++w)
    for (auto rest = static_cast<std::uint64_t>(words[w]); rest != 0; rest &= rest - 1)
      numbers.push_back(w * word_rows + std::countr_zero(rest));
  return numbers;
}

}  // namespace

TouchedRows::TouchedRows(const std::vector<Table>& tables, const std::vector<Feature>& features)
    : tables_(tables), features_(features), first_{0} {
  for (const Table& table : tables) {
    const std::int64_t rows = storage_of(table).comes_and_goes ? 0 : table.rows;
    first_.push_back(first_.back() + (rows + word_rows - 1) / word_rows);
  }
  clear();
}

void TouchedRows::add(const StepInput& input) {
  const auto ids = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), input.bags.indices);
  std::int64_t next = 0;
  for (std::size_t f = 0; f < features_.size(); ++f) {
    const auto table = static_cast<std::size_t>(features_[f].table);
    const std::span touched = std::span(touched_).subspan(first_[table], first_[table + 1] - first_[table]);
    if (touched.empty()) {
      next += input.ids[f];
      continue;
    }
    for (std::int64_t i = 0; i < input.ids[f]; ++i) {
      const std::int64_t row = ids(next++);
      touched[row / word_rows] |= std::int64_t{1} << row % word_rows;
    }
  }
}

void TouchedRows::clear() { touched_.assign(static_cast<std::size_t>(first_.back()), 0); }

std::vector<std::optional<std::vector<std::int64_t>>> TouchedRows::rows(const comm::Communicator& comm,
                                                                        const SavedLayout& layout) const {
  std::vector<std::int64_t> words = touched_;
  comm::all_reduce(comm, std::span(words), comm::Reduce::bit_or);
  std::vector<std::vector<std::int64_t>> of_tables(tables_.size());
  for (std::size_t t = 0; t < tables_.size(); ++t)
    if (tables_[t].optimizer.kind != OptimizerKind::none)
      of_tables[t] = numbers_of(std::span(words).subspan(first_[t], first_[t + 1] - first_[t]));
  std::vector<std::optional<std::vector<std::int64_t>>> rows;
  for (std::size_t a = 0; a < layout.arrays.size(); ++a) {
    const ArrayLayout& array = layout.layouts[a];
    if (array.keyed) {
      rows.emplace_back();
      continue;
    }
    if (array.table < 0) {
      std::vector<std::int64_t> all(static_cast<std::size_t>(layout.arrays[a].rows));
      std::iota(all.begin(), all.end(), 0);
      rows.emplace_back(std::move(all));
      continue;
    }
    const Table& table = tables_[static_cast<std::size_t>(array.table)];
    std::vector<std::int64_t>& of_table = of_tables[static_cast<std::size_t>(array.table)];
    if (!storage_of(table).computes()) {  // the table is its one part
      rows.emplace_back(std::move(of_table));
      continue;
    }
    auto of_parts = storage_of(table).rows_of_parts(table, of_table);
    std::vector<std::int64_t>& of_part = of_parts[static_cast<std::size_t>(array.part)];
    if (std::ranges::adjacent_find(of_part, std::greater_equal()) != of_part.end()) sort_distinct(of_part);
    rows.emplace_back(std::move(of_part));
  }
  return rows;
}

}  // namespace shardmark::workloads
