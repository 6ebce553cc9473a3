// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "datasets/hdf5.hpp"
#include "reference/output_file.hpp"

namespace shardmark::datasets {

/// Is what every row of an array has under one name: `elements` values of a type.
struct SavedField {
  std::string name;
  hdf5::RowElement type = hdf5::RowElement::fp32;
  std::int64_t elements = 0;

  std::int64_t bytes() const { return elements * hdf5::bytes_of(type); }
  bool operator==(const SavedField&) const = default;
};

/// Describes rows that are saved: of a table, of a core of a tensor train, or the weights of a dense model. They are
/// numbered alike whatever ranks hold them, and go in blocks, each of which has a checksum.
struct SavedArray {
  std::string path;  ///< of its group in files, "/tables/users"
  std::int64_t rows = 0;
  std::vector<SavedField> fields;
  std::int64_t block_rows = 1;

  std::int64_t row_bytes() const;
  std::int64_t blocks() const { return (rows + block_rows - 1) / block_rows; }
  /// Returns whether its rows say which they are, by ascending numbers in their first field: rows of a table of which
  /// only some are here (`row`), of one whose rows come and go (`key`), or lines of counters (`line`).
  bool is_numbered() const;
  bool operator==(const SavedArray&) const = default;
};

/// Returns the bytes of all rows of some arrays.
std::int64_t bytes_of(const std::vector<SavedArray>& arrays);

/// Returns the number of the array of a path; -1 where there is none.
std::int64_t array_number(const std::vector<SavedArray>& arrays, const std::string& path);

/// Returns an array whose blocks have about 1 MiB.
SavedArray saved_array(std::string path, std::int64_t rows, std::vector<SavedField> fields);

/// Names consecutive rows of an array, by its number.
struct SavedRange {
  std::int64_t array = 0, first = 0, count = 0;

  std::int64_t end() const { return first + count; }
  bool operator==(const SavedRange&) const = default;
};

/// Describes a file of rows: whole blocks, of each array at most one range.
struct SavedPart {
  std::string file;
  std::int64_t bytes = 0;
  std::string xxh64;  ///< of the checksums of its blocks
  std::vector<SavedRange> ranges;
};

/// Names a checkpoint by its step and the checksum of its manifest.
struct SavedParent {
  std::int64_t step = 0;
  std::string xxh64;
};

/// Says what a checkpoint consists of. It is written last: a folder without one is no checkpoint.
struct Manifest {
  std::int64_t step = 0;
  /// Is the checkpoint of which this one has only rows that were touched since: arrays then have as many rows, and the
  /// number of each in their first field, `row`, ascending. Absent: this one has all rows.
  std::optional<SavedParent> parent;
  nlohmann::ordered_json run;  ///< what is to be the same where it is restored, and what a reader may want to know
  std::vector<SavedArray> arrays;
  std::vector<SavedPart> parts;
  std::string xxh64;  ///< of the manifest's text but for this line

  std::int64_t bytes() const { return bytes_of(arrays); }
};

// The names of the files of a checkpoint; those of parts only begin so.
inline constexpr const char* manifest_name = "manifest.json";
inline constexpr const char* index_name = "index.h5";
inline constexpr const char* part_prefix = "part-";

/// Returns the name that all files of a checkpoint carry: the XXH64 of step, run and arrays.
std::string identity_of(const Manifest& manifest);

/// Writes the manifest into the folder of its checkpoint, and returns its checksum. Throws InputError.
std::string write_manifest(const std::string& folder, const Manifest& manifest, const FileSteps& before = {});

/// Reads the manifest of a checkpoint. Throws InputError naming the file where it is missing or damaged.
Manifest read_manifest(const std::string& folder);

/// Returns the folder of the checkpoint of a step, in one that holds several.
std::string step_folder(const std::string& folder, std::int64_t step);

/// Returns the steps of which the folder holds whole checkpoints, ascending; others are being written, or were cut off.
std::vector<std::int64_t> saved_steps(const std::string& folder);

/// Returns the checkpoint that a name leads to: the folder itself where it is one, else that of the latest step in it.
/// Throws InputError where there is none.
std::string latest_checkpoint(const std::string& folder);

/// Returns the checkpoint that a name leads to behind those whose changes it builds on, which lie beside it: one with
/// all rows first. Throws InputError where one of them is missing, or is not the one that was there when the changes
/// were saved.
std::vector<std::string> chain_of(const std::string& folder);

/// Removes the files of a checkpoint, the manifest first, and its folder where nothing else is in it. Throws
/// InputError.
void remove_checkpoint(const std::string& folder);

/// Removes what cut-off saves left in the folder, and of the whole checkpoints all but the latest `kept` and
/// those that they build on. Throws InputError.
void remove_old_checkpoints(const std::string& folder, std::size_t kept);

/// Returns the XXH64 of bytes, begun with `seed`.
std::uint64_t checksum_of(std::span<const std::byte> bytes, std::uint64_t seed = 0);
/// Returns a checksum as 16 hexadecimal digits.
std::string checksum_text(std::uint64_t checksum);

}  // namespace shardmark::datasets
