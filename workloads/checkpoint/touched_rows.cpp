// SPDX-License-Identifier: Apache-2.0
#include "workloads/checkpoint/touched_rows.hpp"

#include <numeric>
#include <span>

#include "comm/collectives.hpp"
#include "reference/sort_distinct.hpp"
#include "reference/storage.hpp"

namespace shardmark::workloads {

TouchedRows::TouchedRows(const std::vector<Table>& tables, const std::vector<Feature>& features)
    : tables_(tables), features_(features) {
  for (const Table& table : tables)
    touched_.emplace_back(storage_of(table).comes_and_goes ? 0 : static_cast<std::size_t>(table.rows));
}

void TouchedRows::add(const StepInput& input) {
  const auto ids = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), input.bags.indices);
  std::int64_t next = 0;
  for (std::size_t f = 0; f < features_.size(); ++f) {
    std::vector<bool>& touched = touched_[static_cast<std::size_t>(features_[f].table)];
    if (touched.empty())
      next += input.ids[f];
    else
      for (std::int64_t i = 0; i < input.ids[f]; ++i) touched[static_cast<std::size_t>(ids(next++))] = true;
  }
}

void TouchedRows::clear() {
  for (std::vector<bool>& touched : touched_) touched.assign(touched.size(), false);
}

std::vector<std::optional<std::vector<std::int64_t>>> TouchedRows::rows(const comm::Communicator& comm,
                                                                        const SavedLayout& layout) const {
  std::vector<std::vector<std::int64_t>> of_tables;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    std::vector<std::int64_t> own;
    const bool trained = tables_[t].optimizer.kind != OptimizerKind::none;
    for (std::size_t row = 0; trained && row < touched_[t].size(); ++row)
      if (touched_[t][row]) own.push_back(static_cast<std::int64_t>(row));
    auto all = comm::all_gather(comm, std::span<const std::int64_t>(own)).values;
    sort_distinct(all);
    of_tables.push_back(std::move(all));
  }
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
    auto of_parts = storage_of(table).rows_of_parts(table, of_tables[static_cast<std::size_t>(array.table)]);
    sort_distinct(of_parts[static_cast<std::size_t>(array.part)]);
    rows.emplace_back(std::move(of_parts[static_cast<std::size_t>(array.part)]));
  }
  return rows;
}

}  // namespace shardmark::workloads
