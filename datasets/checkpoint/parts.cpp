// SPDX-License-Identifier: Apache-2.0
#include "datasets/checkpoint/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <span>

#include "reference/error.hpp"

namespace shardmark::datasets {
namespace {

namespace fs = std::filesystem;

constexpr const char* identity_attribute = "checkpoint";

std::string object_of(const SavedArray& array, const SavedField& field) { return array.path + "/" + field.name; }
std::string checksums_of(const SavedArray& array) { return array.path + "/xxh64"; }

std::uint64_t checksum_of_numbers(std::span<const std::uint64_t> numbers, std::uint64_t seed) {
  return checksum_of(std::as_bytes(numbers), seed);
}

/// Returns the checksum of rows [begin, end) of those given: of their fields in turn.
std::uint64_t checksum_of_block(const SavedArray& array, const SavedRows& rows, std::int64_t begin, std::int64_t end) {
  std::uint64_t checksum = 0;
  for (std::size_t f = 0; f < array.fields.size(); ++f) {
    const auto bytes = static_cast<std::size_t>(array.fields[f].bytes());
    const auto first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
    checksum = checksum_of(std::span(rows[f]).subspan(first * bytes, count * bytes), checksum);
  }
  return checksum;
}

/// Calls visit(first row, end) for each block of a range that begins with one; rows count from that of the range.
template <class Visit>
void for_each_block(const SavedArray& array, const SavedRange& range, const Visit& visit) {
  for (std::int64_t begin = 0; begin < range.count; begin += array.block_rows)
    visit(begin, std::min(begin + array.block_rows, range.count));
}

std::int64_t blocks_of(const SavedArray& array, const SavedRange& range) {
  return (range.count + array.block_rows - 1) / array.block_rows;
}

std::string rows_text(const SavedArray& array, std::int64_t first, std::int64_t end) {
  return fmt::format("{}: rows {} to {}", array.path, first, end - 1);
}

}  // namespace

std::int64_t row_number(const SavedField& field, std::span<const std::byte> numbers, std::int64_t row) {
  std::int64_t wide = 0;
  std::int32_t narrow = 0;
  const auto bytes = static_cast<std::size_t>(field.bytes());
  const std::byte* const at = numbers.data() + static_cast<std::size_t>(row) * bytes;
  if (field.type == hdf5::RowElement::int64) {
    std::memcpy(&wide, at, bytes);
    return wide;
  }
  std::memcpy(&narrow, at, bytes);
  return narrow;
}

SavedRows room_for(const SavedArray& array, std::int64_t rows) {
  SavedRows room;
  make_room(array, rows, room);
  return room;
}

void make_room(const SavedArray& array, std::int64_t count, SavedRows& rows) {
  rows.resize(array.fields.size());
  for (std::size_t f = 0; f < rows.size(); ++f)
    rows[f].resize(static_cast<std::size_t>(count * array.fields[f].bytes()));
}

struct PartWriter::Written {
  SavedRange range;
  std::vector<hdf5::RowData> fields;
  std::vector<std::uint64_t> checksums = {};
};

PartWriter::PartWriter(const std::string& folder, const Manifest& manifest, SavedPart part, FileSteps before)
    : manifest_(manifest),
      part_(std::move(part)),
      before_(std::move(before)),
      output_((fs::path(folder) / part_.file).string()) {
  file_ = hdf5::File::create(output_);
  file_->write_attribute("/", identity_attribute, identity_of(manifest_));
  for (const SavedRange& range : part_.ranges) {
    const SavedArray& array = manifest_.arrays[range.array];
    Written& written = ranges_.emplace_back(Written{range, {}});
    for (const SavedField& field : array.fields)
      written.fields.push_back(
          hdf5::RowData::create(*file_, object_of(array, field), field.type, range.count, field.elements));
    file_->write_attribute(array.path, "first", range.first);
  }
}

PartWriter::~PartWriter() = default;

void PartWriter::write(const SavedRange& blocks, const SavedRows& rows) {
  const SavedArray& array = manifest_.arrays[blocks.array];
  const auto written = std::ranges::find(ranges_, blocks.array, [](const Written& each) { return each.range.array; });
  if (before_) before_("write");
  for (std::size_t f = 0; f < array.fields.size(); ++f)
    written->fields[f].write(blocks.first - written->range.first, rows[f]);
  file_->begin_write_back();
  for_each_block(array, blocks, [&](std::int64_t begin, std::int64_t end) {
    written->checksums.push_back(checksum_of_block(array, rows, begin, end));
  });
}

SavedPart PartWriter::close() {
  std::uint64_t checksum = 0;
  for (const Written& written : ranges_) {
    const SavedArray& array = manifest_.arrays[written.range.array];
    hdf5::Dataset<std::uint64_t>::create(*file_, checksums_of(array),
                                         std::min(std::ssize(written.checksums), hdf5::chunk_bytes / 8))
        .append(written.checksums);
    checksum = checksum_of_numbers(written.checksums, checksum);
  }
  ranges_.clear();
  file_->close();
  std::error_code error;
  part_.bytes = static_cast<std::int64_t>(fs::file_size(output_.path(), error));
  part_.xxh64 = checksum_text(checksum);
  return part_;
}

void write_index(const std::string& folder, const Manifest& manifest, const FileSteps& before) {
  OutputFile output((fs::path(folder) / index_name).string());
  hdf5::File file = hdf5::File::create(output);
  file.write_attribute("/", identity_attribute, identity_of(manifest));
  file.write_attribute("/", "step", manifest.step);
  if (before) before("write");
  for (std::int64_t a = 0; a < std::ssize(manifest.arrays); ++a) {
    const SavedArray& array = manifest.arrays[a];
    for (const SavedField& field : array.fields) {
      std::vector<hdf5::RowsElsewhere> pieces;
      for (const SavedPart& part : manifest.parts)
        for (const SavedRange& range : part.ranges)
          if (range.array == a) pieces.push_back({part.file, object_of(array, field), range.first, range.count});
      file.write_view(object_of(array, field), field.type, array.rows, field.elements, pieces);
    }
  }
  file.close();
  output.commit(before);
}

/// Is a part that is open.
struct CheckpointReader::Part {
  struct Range {
    SavedRange rows;
    std::vector<hdf5::RowData> fields;
    std::vector<std::uint64_t> checksums;
  };
  hdf5::File file;
  std::vector<Range> ranges = {};
};

CheckpointReader::CheckpointReader(const std::string& folder)
    : folder_(latest_checkpoint(folder)), manifest_(read_manifest(folder_)) {}

CheckpointReader::~CheckpointReader() = default;

CheckpointReader::Part& CheckpointReader::part(std::size_t number) const {
  if (const auto found = parts_.find(number); found != parts_.end()) return *found->second;
  const SavedPart& saved = manifest_.parts[number];
  const std::string path = (fs::path(folder_) / saved.file).string();
  std::error_code error;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path, error));
  constexpr const char* remedy = "bring the file back, or restore another checkpoint";
  if (error) throw InputError(fmt::format("{}: this part is missing; {}", path, remedy));
  if (bytes != saved.bytes)
    throw InputError(
        fmt::format("{}: this part has {} bytes, and {} were written; {}", path, bytes, saved.bytes, remedy));
  auto opened = std::make_unique<Part>(Part{hdf5::File::open(path)});  // its data sets know where the file lies
  Part& part = *opened;
  const std::string identity =
      part.file.has_attribute("/", identity_attribute) ? part.file.read_string("/", identity_attribute) : "none";
  if (identity != identity_of(manifest_))
    throw InputError(fmt::format("{}: this part is of another checkpoint, {}; {}", path, identity, remedy));
  std::uint64_t checksum = 0;
  for (const SavedRange& rows : saved.ranges) {
    const SavedArray& array = manifest_.arrays[rows.array];
    Part::Range& range = part.ranges.emplace_back(Part::Range{rows, {}, {}});
    for (const SavedField& field : array.fields)
      range.fields.push_back(
          hdf5::RowData::open(part.file, object_of(array, field), field.type, rows.count, field.elements));
    const auto stored = hdf5::Dataset<std::uint64_t>::open(part.file, checksums_of(array));
    range.checksums.resize(static_cast<std::size_t>(stored.size()));
    stored.read(0, range.checksums);
    checksum = checksum_of_numbers(range.checksums, checksum);
    if (std::ssize(range.checksums) != blocks_of(array, rows)) checksum = ~checksum;
  }
  if (checksum_text(checksum) != saved.xxh64)
    throw InputError(
        fmt::format("{}: the checksums of this part are not those that were written, so that it is damaged "
                    "or of another checkpoint; {}",
                    path, remedy));
  return *parts_.emplace(number, std::move(opened)).first->second;
}

void CheckpointReader::read(const SavedRange& blocks, SavedRows& rows) const {
  const SavedArray& array = manifest_.arrays[blocks.array];
  make_room(array, blocks.count, rows);
  std::int64_t found = 0;
  for (std::size_t p = 0; p < manifest_.parts.size(); ++p)
    for (std::size_t r = 0; r < manifest_.parts[p].ranges.size(); ++r) {
      const SavedRange& held = manifest_.parts[p].ranges[r];
      const std::int64_t begin = std::max(held.first, blocks.first), end = std::min(held.end(), blocks.end());
      if (held.array != blocks.array || begin >= end) continue;
      const Part& opened = part(p);
      const Part::Range& range = opened.ranges[r];
      for (std::size_t f = 0; f < array.fields.size(); ++f) {
        const auto bytes = static_cast<std::size_t>(array.fields[f].bytes());
        range.fields[f].read(begin - held.first,
                             std::span(rows[f]).subspan(static_cast<std::size_t>(begin - blocks.first) * bytes,
                                                        static_cast<std::size_t>(end - begin) * bytes));
      }
      for_each_block(array, {blocks.array, begin, end - begin}, [&](std::int64_t first, std::int64_t last) {
        const std::int64_t shift = begin - blocks.first;
        const std::int64_t number = (begin + first - held.first) / array.block_rows;
        if (checksum_of_block(array, rows, shift + first, shift + last) != range.checksums[number])
          throw InputError(
              fmt::format("{}: {} are damaged, as their xxh64 is another than was written; restore another "
                          "checkpoint",
                          opened.file.path(), rows_text(array, begin + first, begin + last)));
      });
      found += end - begin;
    }
  if (found != blocks.count)
    throw InputError(fmt::format("{}: no part holds all of {}; restore another checkpoint", folder_,
                                 rows_text(array, blocks.first, blocks.end())));
}

void CheckpointReader::begin_read(const SavedRange& blocks) const {
  for (std::size_t p = 0; p < manifest_.parts.size(); ++p)
    for (std::size_t r = 0; r < manifest_.parts[p].ranges.size(); ++r) {
      const SavedRange& held = manifest_.parts[p].ranges[r];
      const std::int64_t begin = std::max(held.first, blocks.first), end = std::min(held.end(), blocks.end());
      if (held.array != blocks.array || begin >= end) continue;
      for (const hdf5::RowData& field : part(p).ranges[r].fields) field.begin_read(begin - held.first, end - begin);
    }
}

std::vector<std::uint64_t> CheckpointReader::checksums(std::int64_t array) const {
  std::vector<std::uint64_t> checksums(static_cast<std::size_t>(manifest_.arrays[array].blocks()));
  for (std::size_t p = 0; p < manifest_.parts.size(); ++p)
    for (std::size_t r = 0; r < manifest_.parts[p].ranges.size(); ++r)
      if (const SavedRange& rows = manifest_.parts[p].ranges[r]; rows.array == array)
        std::ranges::copy(part(p).ranges[r].checksums,
                          checksums.begin() + rows.first / manifest_.arrays[array].block_rows);
  return checksums;
}

std::vector<std::string> CheckpointReader::damages() const {
  std::vector<std::string> damages;
  const auto note = [&](const auto& action) {
    try {
      action();
      return true;
    } catch (const InputError& error) {
      damages.emplace_back(error.what());
      return false;
    }
  };
  for (std::size_t p = 0; p < manifest_.parts.size(); ++p) {
    if (!note([&] { part(p); })) continue;
    for (const SavedRange& range : manifest_.parts[p].ranges)
      for_each_block(manifest_.arrays[range.array], range, [&](std::int64_t first, std::int64_t last) {
        note([&] { read({range.array, range.first + first, last - first}); });
      });
  }
  note([&] {
    const hdf5::File index = hdf5::File::open((fs::path(folder_) / index_name).string());
    if (index.read_string("/", identity_attribute) != identity_of(manifest_))
      throw InputError(index.path() + ": is the index of another checkpoint; nothing of this one is lost");
  });
  return damages;
}

std::int64_t ArrayBlocks::seek(std::int64_t row) {
  const std::int64_t block_rows = array().block_rows, first = row / block_rows * block_rows;
  if (first != first_) reader_->read({number_, first, std::min(block_rows, array().rows - first)}, rows_);
  first_ = first;
  return row - first;
}

namespace {

bool is_same_row(const SavedArray& array, const SavedRows& a, std::int64_t row, const SavedRows& b,
                 std::int64_t other) {
  for (std::size_t f = 0; f < array.fields.size(); ++f) {
    const auto bytes = static_cast<std::size_t>(array.fields[f].bytes());
    if (std::memcmp(a[f].data() + static_cast<std::size_t>(row) * bytes,
                    b[f].data() + static_cast<std::size_t>(other) * bytes, bytes) != 0)
      return false;
  }
  return true;
}

/// Walks through the rows of an array.
class Rows {
 public:
  Rows(const CheckpointReader& reader, std::int64_t array) : blocks_(reader, array) { load(); }
  bool any() const { return blocks_.any() && row_ < blocks_.array().rows; }
  std::int64_t number() const { return row_number(blocks_.array().fields.front(), blocks_.rows().front(), at_); }
  bool equals(const Rows& other) const {
    return is_same_row(blocks_.array(), blocks_.rows(), at_, other.blocks_.rows(), other.at_);
  }
  void next() {
    ++row_;
    load();
  }

 private:
  void load() {
    if (any()) at_ = blocks_.seek(row_);
  }

  ArrayBlocks blocks_;
  std::int64_t row_ = 0, at_ = 0;  ///< of the array; of the block
};

/// Compares arrays by the numbers of their rows; below 0: it is not there.
ArrayDifference numbered_difference(const CheckpointReader& a, std::int64_t in_a, const CheckpointReader& b,
                                    std::int64_t in_b) {
  const SavedArray& array = in_a >= 0 ? a.manifest().arrays[in_a] : b.manifest().arrays[in_b];
  ArrayDifference difference{.path = array.path, .number = array.fields.front().name};
  if (in_a >= 0 && in_b >= 0 && a.manifest().arrays[in_a].rows == b.manifest().arrays[in_b].rows &&
      a.checksums(in_a) == b.checksums(in_b))
    return difference;
  const auto add = [&](std::int64_t number) {
    if (difference.rows++ == 0) difference.first_row = number;
  };
  for (Rows left(a, in_a), right(b, in_b); left.any() || right.any();) {
    const bool in_left = left.any() && (!right.any() || left.number() <= right.number());
    const bool in_right = right.any() && (!left.any() || right.number() <= left.number());
    if (!in_left || !in_right || !left.equals(right)) add(in_left ? left.number() : right.number());
    if (in_left) left.next();
    if (in_right) right.next();
  }
  return difference;
}

ArrayDifference row_difference(const CheckpointReader& a, const CheckpointReader& b, std::int64_t in_a,
                               std::int64_t in_b) {
  const SavedArray& array = a.manifest().arrays[in_a];
  const auto one = a.checksums(in_a), other = b.checksums(in_b);
  ArrayDifference difference{array.path};
  for (std::int64_t block = 0; block < array.blocks(); ++block) {
    if (one[block] == other[block]) continue;
    const std::int64_t first = block * array.block_rows, count = std::min(array.block_rows, array.rows - first);
    const SavedRows left = a.read({in_a, first, count}), right = b.read({in_b, first, count});
    for (std::int64_t row = 0; row < count; ++row)
      if (!is_same_row(array, left, row, right, row) && difference.rows++ == 0) difference.first_row = first + row;
  }
  return difference;
}

}  // namespace

std::vector<ArrayDifference> differences(const CheckpointReader& a, const CheckpointReader& b) {
  const auto &of_a = a.manifest().arrays, &of_b = b.manifest().arrays;
  const auto require = [&](bool same) {
    if (!same)
      throw InputError(fmt::format("{} and {}: their arrays are not the same; `shardmark checkpoint show` prints them",
                                   a.folder(), b.folder()));
  };
  std::vector<ArrayDifference> all;
  const auto add = [&](ArrayDifference difference) {
    if (difference.rows > 0) all.push_back(std::move(difference));
  };
  for (std::int64_t n = 0; n < std::ssize(of_a); ++n) {
    const std::int64_t other = array_number(of_b, of_a[n].path);
    if (of_a[n].is_numbered()) {
      require(other < 0 || of_a[n].fields == of_b[other].fields);
      add(numbered_difference(a, n, b, other));
    } else {
      require(other >= 0 && of_a[n] == of_b[other]);
      add(row_difference(a, b, n, other));
    }
  }
  for (std::int64_t n = 0; n < std::ssize(of_b); ++n)
    if (array_number(of_a, of_b[n].path) < 0) {
      require(of_b[n].is_numbered());
      add(numbered_difference(a, -1, b, n));
    }
  return all;
}

}  // namespace shardmark::datasets
