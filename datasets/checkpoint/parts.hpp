// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "datasets/checkpoint/manifest.hpp"
#include "datasets/hdf5.hpp"

namespace shardmark::datasets {

/// Leaves the elements of a new vector without a value, where all are written anyway.
template <class T>
struct WithoutValue : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = WithoutValue<U>;
  };
  template <class U>
  void construct(U* element) noexcept {
    ::new (static_cast<void*>(element)) U;
  }
  template <class U, class... Arguments>
  void construct(U* element, Arguments&&... arguments) {
    ::new (static_cast<void*>(element)) U(std::forward<Arguments>(arguments)...);
  }
};
using Bytes = std::vector<std::byte, WithoutValue<std::byte>>;

/// Holds some rows of an array: of each of its fields [rows, elements], bit for bit as in memory.
using SavedRows = std::vector<Bytes>;

/// Returns room for so many rows.
SavedRows room_for(const SavedArray& array, std::int64_t rows);
/// Gives rows that room, in the memory that they have where it suffices.
void make_room(const SavedArray& array, std::int64_t count, SavedRows& rows);

/// Returns the number of a row: its element of the first field of a numbered array.
std::int64_t row_number(const SavedField& field, std::span<const std::byte> numbers, std::int64_t row);

/// Writes one part of a checkpoint: beside the fields of each array, attribute `first` (the number of the first row)
/// and `xxh64`, a checksum of each block. The file appears under its name when it is committed, or not at all.
class PartWriter {
 public:
  /// manifest: its arrays and identity; part: file and ranges. `before` is called as FileSteps says. Throws InputError
  /// when the file cannot be written, as all functions do.
  PartWriter(const std::string& folder, const Manifest& manifest, SavedPart part, FileSteps before = {});
  ~PartWriter();

  /// Writes whole blocks, those of a range in their order.
  void write(const SavedRange& blocks, const SavedRows& rows);
  /// Closes the file once all is written, and returns the part with its bytes and checksum.
  SavedPart close();
  /// Brings the closed file to the disk and gives it its name. No HDF5: any thread may wait for the disk here.
  void commit() { output_.commit(before_); }

 private:
  struct Written;

  const Manifest& manifest_;
  SavedPart part_;
  FileSteps before_;
  OutputFile output_;
  std::optional<hdf5::File> file_;
  std::vector<Written> ranges_;
};

/// Makes index.h5 of the folder: a view of each field of each array as one data set [rows, elements], with the step.
void write_index(const std::string& folder, const Manifest& manifest, const FileSteps& before = {});

/// Reads the rows of a checkpoint, and holds each block that it reads to its checksum. Throws InputError naming array,
/// rows and file.
class CheckpointReader {
 public:
  /// Reads the manifest of a checkpoint, or of the latest one in the folder.
  explicit CheckpointReader(const std::string& folder);
  ~CheckpointReader();

  const std::string& folder() const { return folder_; }
  const Manifest& manifest() const { return manifest_; }

  /// Reads whole blocks into `rows`, which get the room; or returns them.
  void read(const SavedRange& blocks, SavedRows& rows) const;
  SavedRows read(const SavedRange& blocks) const {
    SavedRows rows;
    read(blocks, rows);
    return rows;
  }
  /// Lets the system begin to read blocks that are read later.
  void begin_read(const SavedRange& blocks) const;
  /// Returns the checksums of all blocks of an array, as its parts have them.
  std::vector<std::uint64_t> checksums(std::int64_t array) const;
  /// Reads everything, and returns a line for each part or block that is not what was written.
  std::vector<std::string> damages() const;

 private:
  struct Part;
  Part& part(std::size_t number) const;

  std::string folder_;
  Manifest manifest_;
  mutable std::map<std::size_t, std::unique_ptr<Part>> parts_;  ///< those that were opened
};

/// Walks through an array of a checkpoint, a block at a time. The reader outlives it.
class ArrayBlocks {
 public:
  /// Takes the number of the array; below 0: it is not there.
  ArrayBlocks(const CheckpointReader& reader, std::int64_t number) : reader_(&reader), number_(number) {}

  bool any() const { return number_ >= 0; }
  const SavedArray& array() const { return reader_->manifest().arrays[number_]; }
  /// Reads the block of a row, unless it was read last, and returns the place of the row there.
  std::int64_t seek(std::int64_t row);
  const SavedRows& rows() const { return rows_; }

 private:
  const CheckpointReader* reader_;
  std::int64_t number_, first_ = -1;
  SavedRows rows_;
};

/// Says how the rows of an array differ between two checkpoints.
struct ArrayDifference {
  std::string path;
  std::int64_t rows = 0;       ///< that differ; of a numbered array also those that only one of them has
  std::int64_t first_row = 0;  ///< the first of them
  std::string number = "row";  ///< what their numbers are: the first field of a numbered array
};

/// Returns the arrays of which rows differ, by number where they are numbered; one that is not there has no rows.
/// Throws InputError where the checkpoints have other arrays of rows that are not numbered, or rows of other fields.
std::vector<ArrayDifference> differences(const CheckpointReader& a, const CheckpointReader& b);

}  // namespace shardmark::datasets
