// SPDX-License-Identifier: Apache-2.0
#include "workloads/checkpoint/saved_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "datasets/checkpoint/parts.hpp"
#include "reference/dynamic/dynamic_table.hpp"
#include "reference/error.hpp"
#include "reference/storage.hpp"
#include "workloads/tables/dynamic/dynamic_store.hpp"
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
  const Table beside = storage_of(table).cached_rows(table);
  if (beside.rows > 0 && beside.optimizer.kind != OptimizerKind::none)
    throw InputError(fmt::format(
        "table {}: its cached rows are trained beside its parts and are not saved; use cached rows that are read only, "
        "or none",
        table.name));
}

/// Says what files have of a part of a table whose rows come and go.
struct KeyedArray {
  SavedKeys part;
  std::string below;  ///< the path of the table
  std::vector<datasets::SavedField> fields;
  std::int64_t dim = 0;  ///< of values
};

std::vector<KeyedArray> keyed_arrays(const Table& table) {
  using datasets::hdf5::RowElement;
  const datasets::SavedField key{"key", RowElement::int64, 1}, use{"use", RowElement::uint32, 2};
  std::vector<KeyedArray> arrays{{SavedKeys::rows, "", {key, use}, values_are_saved(table) ? table.dim : 0}};
  const Admission admission = reference::rules_of(table).admission;
  if (admission.kind == AdmissionKind::counter) arrays.push_back({SavedKeys::counts, "/counted", {key, use}});
  if (admission.kind == AdmissionKind::bloom) {
    constexpr std::int64_t bytes = BloomShape::line_bytes;
    arrays.push_back(
        {SavedKeys::counters, "/bloom", {{"line", RowElement::int64, 1}, {"values", RowElement::uint8, bytes}}, bytes});
  }
  arrays.push_back({SavedKeys::evicted, "/evicted", {key}});
  return arrays;
}

/// Returns the layout of a part of a table whose rows come and go.
ArrayLayout keyed_layout(const KeyedArray& array, const Table& table, std::int64_t number,
                         const placement::TablePlacement& placement, const ShardLayout& own) {
  const bool rows = array.part == SavedKeys::rows, has_columns = rows && array.dim > 0;
  ArrayLayout layout{.table = number, .dim = array.dim, .holders = {}, .replica = {}, .keyed = array.part};
  if (has_columns) {
    layout.value_type = table.value_type;
    layout.vectors = choice_of(table.optimizer.kind).vectors;
    layout.scalars = choice_of(table.optimizer.kind).scalars;
  }
  std::vector<std::int64_t> strips;  // their first columns
  for (const placement::Shard& shard : placement.shards) {
    HeldCells cells{shard.rank,
                    -1,
                    shard.rows,
                    has_columns ? shard.column_begin : 0,
                    has_columns ? shard.column_end : array.dim,
                    shard.column_begin > 0};
    if (shard.rank == own.rank) cells.shard = shard_number(own, number, shard.rows, shard.column_begin, false);
    const auto strip = std::ranges::find(strips, shard.column_begin) - strips.begin();
    if (strip == std::ssize(strips)) {
      strips.push_back(shard.column_begin);
      layout.holders_of_buckets.emplace_back(static_cast<std::size_t>(key_buckets), -1);
    }
    for (std::int64_t bucket = 0; bucket < key_buckets; ++bucket)
      if (cells.rows.contains(row_of_bucket(bucket, table.rows)))
        layout.holders_of_buckets[strip][bucket] = std::ssize(layout.holders);
    layout.holders.push_back(cells);
  }
  return layout;
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
    if (storage_of(table).comes_and_goes) {
      for (KeyedArray& array : keyed_arrays(table)) {
        ArrayLayout layout = keyed_layout(array, table, t, placement, own);
        if (array.part == SavedKeys::rows && array.dim > 0) {
          array.fields.push_back({"values", element_of(table.value_type), table.dim});
          if (const std::int64_t state = layout.state_floats(table.dim); state > 0)
            array.fields.push_back({"state", datasets::hdf5::RowElement::fp32, state});
        }
        arrays.push_back(datasets::saved_array("/tables/" + table.name + array.below, 0, std::move(array.fields)));
        layouts.push_back(std::move(layout));
      }
      continue;
    }
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
        HeldCells cells{shard.rank,
                        -1,
                        splits ? shard.rows : all,
                        splits ? shard.column_begin : 0,
                        splits ? shard.column_end : parts[p].dim,
                        splits && shard.column_begin > 0};
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
  const auto is_whole = [](const datasets::SavedArray& array) { return !array.is_numbered(); };
  if (!manifest.parent && std::ranges::count_if(manifest.arrays, is_whole) != std::ranges::count_if(arrays, is_whole))
    refuse("has other arrays, or arrays of another shape");
  SavedLayout some = *this;
  some.arrays = manifest.arrays;
  some.layouts.clear();
  for (const datasets::SavedArray& array : manifest.arrays) {
    const auto found = std::ranges::find(arrays, array.path, &datasets::SavedArray::path);
    if (found == arrays.end()) refuse(fmt::format("has array {}", array.path));
    const bool same = found->is_numbered() ? array.fields == found->fields
                      : manifest.parent    ? array.fields == with_row_numbers(*found)
                                           : array == *found;
    if (!same) refuse(fmt::format("has array {} of another shape", array.path));
    some.layouts.push_back(layouts[static_cast<std::size_t>(found - arrays.begin())]);
  }
  return some;
}

SavedLayout SavedLayout::of_rows(std::vector<std::optional<std::vector<std::int64_t>>> rows) const {
  SavedLayout some;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    const datasets::SavedArray& array = arrays[a];
    if (rows[a] && rows[a]->empty()) continue;
    const bool by_row = rows[a] && !array.is_numbered();
    some.arrays.push_back(datasets::saved_array(array.path, rows[a] ? std::ssize(*rows[a]) : array.rows,
                                                by_row ? with_row_numbers(array) : array.fields));
    some.layouts.push_back(layouts[a]);
    some.listed.push_back(rows[a] ? std::move(*rows[a]) : std::vector<std::int64_t>());
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
  std::vector<std::int64_t> rows(bytes.size() / static_cast<std::size_t>(field.bytes()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = datasets::row_number(field, bytes, static_cast<std::int64_t>(i));
  return rows;
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
