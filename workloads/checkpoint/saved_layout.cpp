// SPDX-License-Identifier: Apache-2.0
#include "workloads/checkpoint/saved_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "reference/error.hpp"
#include "reference/storage.hpp"
#include "workloads/tables/storages.hpp"

namespace shardmark::workloads {
namespace {

std::int64_t shard_number(const ShardLayout& own, std::int64_t table, const placement::RowSet& rows,
                          std::int64_t column_begin, bool replicated) {
  for (std::int64_t s = 0; s < std::ssize(own.shards); ++s) {
    const LocalShard& shard = own.shards[s];
    if (shard.table == table && shard.replicated == replicated && shard.rows == rows &&
        shard.column_begin == column_begin)
      return s;
  }
  return -1;
}

/// Returns the name of a part of the table in files, as the export has it: the table itself, or "cores/0" below it.
std::string path_of_part(const Table& table, std::size_t part) {
  const std::string path = "/tables/" + table.name;
  const auto describe = maker_of(table).describe_parts;
  return describe ? fmt::format("{}/{}/{}", path, describe(table).group, part) : path;
}

datasets::hdf5::RowElement element_of(ValueType type) { return named<datasets::hdf5::RowElement>(name_of(type)); }

void require_saved(const Table& table) {
  if (storage_of(table).comes_and_goes)
    throw InputError(
        fmt::format("table {}: keys of storage {} are not saved yet; use --storage dense, or no --save and "
                    "--restore",
                    table.name, name_of(table.storage)));
  const Table beside = storage_of(table).cached_rows(table);
  if (beside.rows > 0 && beside.optimizer.kind != OptimizerKind::none)
    throw InputError(fmt::format(
        "table {}: its cached rows are trained beside its parts and are not saved; use cached rows that are read only, "
        "or none",
        table.name));
}

}  // namespace

SavedLayout::SavedLayout(const placement::Plan& plan, const std::vector<Table>& tables, const ShardLayout& own,
                         std::int64_t weights, std::int64_t vectors) {
  const auto add = [&](const std::string& path, std::int64_t rows, ArrayLayout layout) {
    std::vector<datasets::SavedField> fields{{"values", element_of(layout.value_type), layout.dim}};
    if (const std::int64_t state = layout.state_floats(layout.dim); state > 0)
      fields.push_back({"state", datasets::hdf5::RowElement::fp32, state});
    arrays.push_back(datasets::saved_array(path, rows, std::move(fields)));
    layouts.push_back(std::move(layout));
  };
  for (std::int64_t t = 0; t < std::ssize(tables); ++t) {
    const Table& table = tables[t];
    const placement::TablePlacement& placement = plan.tables[t];
    if (table.value_type == ValueType::int8) continue;
    require_saved(table);
    const std::vector<Table> parts = storage_of(table).parts(table);
    const bool splits = storage_of(table).splits;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const auto& optimizer = choice_of(parts[p].optimizer.kind);
      ArrayLayout layout{.table = t,
                         .part = static_cast<std::int64_t>(p),
                         .dim = parts[p].dim,
                         .value_type = parts[p].value_type,
                         .vectors = optimizer.vectors,
                         .scalars = optimizer.scalars,
                         .holders = {},
                         .replica = {}};
      const placement::RowSet all{0, parts[p].rows, 1};
      for (const placement::Shard& shard : placement.shards) {
        HeldCells cells{shard.rank, -1, splits ? shard.rows : all, splits ? shard.column_begin : 0,
                        splits ? shard.column_end : parts[p].dim};
        if (shard.rank == own.rank) cells.shard = shard_number(own, t, shard.rows, shard.column_begin, false);
        if (cells.rows.count() > 0) layout.holders.push_back(cells);
      }
      if (placement::has_replicas(placement)) {
        const placement::RowSet rows = placement::replicated_rows(placement, table);
        layout.replica = {0, shard_number(own, t, rows, 0, true), splits ? rows : all, 0, parts[p].dim};
      }
      add(path_of_part(table, p), parts[p].rows, std::move(layout));
    }
  }
  if (weights == 0) return;
  add("/dense", weights, {.vectors = vectors, .holders = {}, .replica = {0, -1, {0, weights, 1}, 0, 1}});
}

SavedLayout SavedLayout::of_arrays(const datasets::Manifest& manifest, const std::string& folder) const {
  const auto refuse = [&](const std::string& what) {
    throw InputError(fmt::format("{}: {}, which this model has not; restore another checkpoint", folder, what));
  };
  if (!manifest.parent && manifest.arrays != arrays) refuse("has other arrays, or arrays of another shape");
  SavedLayout some = *this;
  some.arrays = manifest.arrays;
  some.layouts.clear();
  for (const datasets::SavedArray& array : manifest.arrays) {
    const auto found = std::ranges::find(arrays, array.path, &datasets::SavedArray::path);
    if (found == arrays.end() || (manifest.parent && array.fields != with_row_numbers(*found)))
      refuse(fmt::format("has array {}", array.path));
    some.layouts.push_back(layouts[static_cast<std::size_t>(found - arrays.begin())]);
  }
  return some;
}

SavedLayout SavedLayout::of_rows(std::vector<std::vector<std::int64_t>> rows) const {
  SavedLayout some = *this;
  some.arrays.clear();
  some.layouts.clear();
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    if (rows[a].empty()) continue;
    some.arrays.push_back(datasets::saved_array(arrays[a].path, std::ssize(rows[a]), with_row_numbers(arrays[a])));
    some.layouts.push_back(layouts[a]);
    some.listed.push_back(std::move(rows[a]));
  }
  return some;
}

std::vector<datasets::SavedField> with_row_numbers(const datasets::SavedArray& all) {
  using datasets::hdf5::RowElement;
  constexpr std::int64_t most = std::int64_t{1} << 31;
  std::vector<datasets::SavedField> fields = all.fields;
  fields.insert(fields.begin(), {"row", all.rows <= most ? RowElement::int32 : RowElement::int64, 1});
  return fields;
}

void put_row_numbers(const datasets::SavedField& field, std::span<const std::int64_t> rows,
                     std::span<std::byte> bytes) {
  if (field.type == datasets::hdf5::RowElement::int64) {
    std::ranges::copy(std::as_bytes(rows), bytes.begin());
    return;
  }
  const std::vector<std::int32_t> narrow(rows.begin(), rows.end());
  std::ranges::copy(std::as_bytes(std::span(narrow)), bytes.begin());
}

std::vector<std::int64_t> row_numbers(const datasets::SavedField& field, std::span<const std::byte> bytes) {
  const std::size_t count = bytes.size() / static_cast<std::size_t>(field.bytes());
  std::vector<std::int64_t> rows(count);
  if (field.type == datasets::hdf5::RowElement::int64) {
    std::memcpy(rows.data(), bytes.data(), bytes.size());
    return rows;
  }
  std::vector<std::int32_t> narrow(count);
  std::memcpy(narrow.data(), bytes.data(), bytes.size());
  return {narrow.begin(), narrow.end()};
}

std::vector<std::vector<datasets::SavedRange>> block_shares(const std::vector<datasets::SavedArray>& arrays,
                                                            int ranks) {
  std::int64_t all = 0;
  for (const datasets::SavedArray& array : arrays) all += array.rows * array.row_bytes();
  std::vector<std::vector<datasets::SavedRange>> shares(static_cast<std::size_t>(ranks));
  double before = 0.0;  // bytes
  for (std::int64_t a = 0; a < std::ssize(arrays); ++a) {
    const datasets::SavedArray& array = arrays[a];
    for (std::int64_t first = 0; first < array.rows; first += array.block_rows) {
      const std::int64_t count = std::min(array.block_rows, array.rows - first);
      auto& share = shares[static_cast<std::size_t>(before / static_cast<double>(all) * ranks)];
      before += static_cast<double>(count * array.row_bytes());
      if (share.empty() || share.back().array != a)
        share.push_back({a, first, count});
      else
        share.back().count += count;
    }
  }
  return shares;
}

std::vector<datasets::SavedRange> in_rounds(const std::vector<datasets::SavedArray>& arrays,
                                            const std::vector<datasets::SavedRange>& share, std::int64_t bytes) {
  std::vector<datasets::SavedRange> rounds;
  for (const datasets::SavedRange& range : share) {
    const datasets::SavedArray& array = arrays[range.array];
    const std::int64_t blocks = std::max<std::int64_t>(1, bytes / (array.block_rows * array.row_bytes()));
    const std::int64_t rows = blocks * array.block_rows;
    for (std::int64_t first = range.first; first < range.end(); first += rows)
      rounds.push_back({range.array, first, std::min(rows, range.end() - first)});
  }
  return rounds;
}

}  // namespace shardmark::workloads
