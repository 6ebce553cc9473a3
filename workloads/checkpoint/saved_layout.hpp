// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/placement/plan.hpp"
#include "datasets/checkpoint/manifest.hpp"
#include "reference/dynamic/admission.hpp"
#include "workloads/tables/shard_layout.hpp"
#include "workloads/tables/store.hpp"

namespace shardmark::workloads {

/// Names cells of an array that one rank holds: some rows, some columns.
struct HeldCells {
  int rank = 0;
  std::int64_t shard = 0;  ///< number among the shards of `rank`; known of this rank's alone
  placement::RowSet rows;  ///< where rows come and go, those that stand for buckets
  std::int64_t column_begin = 0, column_end = 0;
  bool repeats = false;  ///< whether other cells have what lies beside the columns of these rows too

  std::int64_t columns() const { return column_end - column_begin; }
};

/// Says which ranks hold the cells of an array that a checkpoint has, and what a row of it is.
struct ArrayLayout {
  std::int64_t table = -1, part = 0;  ///< of the workload, and part of it; -1: weights of the dense model
  std::int64_t dim = 1;
  ValueType value_type = ValueType::fp32;
  std::int64_t vectors = 0, scalars = 0;  ///< floats of state of a row: vectors of dim columns, and beside them
  std::vector<HeldCells> holders;         ///< of rows that one rank holds: each cell once
  HeldCells replica;                      ///< rows that every rank holds; `rank` is of no use
  /// These are of a table whose rows come and go: what of it the array is, and the number of the holder of each bucket,
  /// [strips of columns][key_buckets]; -1: none, as the table has fewer rows than there are buckets.
  std::optional<SavedKeys> keyed = {};
  std::vector<std::vector<std::int64_t>> holders_of_buckets = {};

  /// Returns the bytes of a row of so many columns as a store has it (StoredRows).
  std::int64_t value_bytes(std::int64_t columns) const {
    return keyed == SavedKeys::counters ? columns : row_bytes(value_type, columns);
  }
  std::int64_t state_floats(std::int64_t columns) const { return vectors * columns + scalars; }
  bool has_uses() const { return keyed == SavedKeys::rows || keyed == SavedKeys::counts; }
  /// Returns whether all who hold columns of a row have the same of it.
  bool has_copies() const { return keyed && (keyed != SavedKeys::rows || dim == 0); }
  /// Returns the bucket of what has this number.
  std::int64_t bucket(std::int64_t number) const {
    return keyed == SavedKeys::counters ? BloomShape::bucket_of_line(number)
                                        : KeyBuckets::of_table(table).bucket(number);
  }
};

/// Lists everything that a checkpoint of tables holds, seen from one rank: tables in their order, of computed ones each
/// part, then the weights of the dense model. int8 rows are none of it: they are not trained, and quantized anew where
/// shards have other columns. Where rows come and go, arrays of no row stand for what there may be.
struct SavedLayout {
  std::vector<datasets::SavedArray> arrays;
  std::vector<ArrayLayout> layouts;  ///< by array
  /// By array, where its rows are numbered: their numbers, ascending, which are also its first field.
  std::vector<std::vector<std::int64_t>> listed = {};

  /// weights: of the dense model, with so many vectors of state. Throws InputError naming a table of which not all that
  /// is trained can be saved.
  SavedLayout() = default;
  SavedLayout(const placement::Plan& plan, const std::vector<Table>& tables, const ShardLayout& own,
              std::int64_t weights, std::int64_t vectors);

  /// Returns the layout of the arrays of a checkpoint, of which these are the arrays of all rows. Throws InputError
  /// naming `folder` where it has other arrays.
  SavedLayout of_arrays(const datasets::Manifest& manifest, const std::string& folder) const;

  /// Returns the numbers of the rows of a range where they are listed.
  std::span<const std::int64_t> rows_of(const datasets::SavedRange& range) const {
    if (range.count == 0 || !arrays[range.array].is_numbered()) return {};
    return std::span(listed[range.array]).subspan(range.first, range.count);
  }

  /// Returns the layout of some rows of each array, or of all; arrays of none are left out.
  SavedLayout of_rows(std::vector<std::optional<std::vector<std::int64_t>>> rows) const;
};

/// Returns the fields of some rows of an array: their numbers, which go before its own, have 4 bytes where all fit.
std::vector<datasets::SavedField> with_row_numbers(const datasets::SavedArray& all);

/// Writes numbers of rows as the field has them in files, and reads them.
void put_row_numbers(const datasets::SavedField& field, std::span<const std::int64_t> rows, std::span<std::byte> bytes);
std::vector<std::int64_t> row_numbers(const datasets::SavedField& field, std::span<const std::byte> bytes);

/// Cuts arrays into a share for each rank: whole blocks, in their order, of about the same bytes.
std::vector<std::vector<datasets::SavedRange>> block_shares(const std::vector<datasets::SavedArray>& arrays, int ranks);

/// Cuts a share into pieces of whole blocks that have about so many bytes, of one array each.
std::vector<datasets::SavedRange> in_rounds(const std::vector<datasets::SavedArray>& arrays,
                                            const std::vector<datasets::SavedRange>& share, std::int64_t bytes);

}  // namespace shardmark::workloads
