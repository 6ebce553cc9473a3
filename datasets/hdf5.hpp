// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reference/named.hpp"
#include "reference/output_file.hpp"

/// These classes own HDF5 identifiers and report errors as InputError("file: dataset: what"). The identifiers appear as
/// 64-bit integers (as HDF5 1.10 and later define hid_t) so that no user of this header needs hdf5.h, nor MPI, which
/// the parallel build of hdf5.h includes. I/O is serial; nothing here calls MPI.
namespace shardmark::datasets::hdf5 {

/// Returns whether several threads may call HDF5 at a time.
bool is_threadsafe();

/// Closes the identifier that it holds.
class Handle {
 public:
  using Close = int (*)(std::int64_t);
  Handle() = default;
  Handle(std::int64_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  std::int64_t id() const { return id_; }

 private:
  std::int64_t id_ = -1;
  Close close_ = nullptr;
};

/// Selects how a number of a row is stored: as in memory. fp16 and bf16 are floating-point types of 2 bytes, as IEEE
/// and Google define them.
enum class RowElement { fp32, fp16, bf16, int32, int64, uint8, uint32 };

inline constexpr std::array row_elements{
    Choice<RowElement>{"fp32", "IEEE single precision", RowElement::fp32},
    Choice<RowElement>{"fp16", "IEEE half precision", RowElement::fp16},
    Choice<RowElement>{"bf16", "the upper half of fp32", RowElement::bf16},
    Choice<RowElement>{"int32", "numbers of rows of which there are at most 2^31", RowElement::int32},
    Choice<RowElement>{"int64", "numbers of rows, and keys", RowElement::int64},
    Choice<RowElement>{"uint8", "counts of at most 255", RowElement::uint8},
    Choice<RowElement>{"uint32", "counts, and numbers of steps", RowElement::uint32},
};
constexpr auto choices_of(RowElement) { return Choices{"element type", row_elements}; }

constexpr std::int64_t bytes_of(RowElement type) {
  switch (type) {
    case RowElement::int64:
      return 8;
    case RowElement::fp16:
    case RowElement::bf16:
      return 2;
    case RowElement::uint8:
      return 1;
    default:
      return 4;
  }
}

/// Names consecutive rows of a data set of rows in another file of the same folder.
struct RowsElsewhere {
  std::string file, object;
  std::int64_t first = 0, count = 0;  ///< where they stand in the view
};

/// Stores elements of type std::uint8_t, std::uint32_t, std::uint64_t or float; they are little-endian in files.
template <class T>
class Dataset;

class File {
 public:
  static File create(const std::string& path);   ///< new or overwritten; metadata carry checksums (HDF5 1.10 format)
  static File create(const OutputFile& output);  ///< errors name its target
  static File open(const std::string& path);     ///< read only

  const std::string& path() const { return path_; }
  std::int64_t id() const { return handle_.id(); }
  bool exists(const std::string& object) const;
  void create_group(const std::string& group);
  void close();  ///< throws when what is buffered cannot be written
  /// Lets the system begin to bring to the disk what was written, so that less is left for the sync at the end.
  void begin_write_back() const;

  void write_attribute(const std::string& object, const std::string& name, const std::string& value);
  void write_attribute(const std::string& object, const std::string& name, std::int64_t value);
  bool has_attribute(const std::string& object, const std::string& name) const;
  std::string read_string(const std::string& object, const std::string& name) const;
  std::int64_t read_integer(const std::string& object, const std::string& name) const;

  /// Writes a whole array of std::int64_t or float, contiguous, of any number of dimensions. Throws InputError unless
  /// the product of `shape` is values.size().
  template <class T>
  void write_array(const std::string& object, std::span<const T> values, const std::vector<std::int64_t>& shape);

  /// Makes a data set [rows, elements] that shows the rows of others, each from its first row on (a virtual data set).
  void write_view(const std::string& object, RowElement type, std::int64_t rows, std::int64_t elements,
                  std::span<const RowsElsewhere> pieces);

  [[noreturn]] void fail(const std::string& object, const std::string& what) const;

 private:
  static File create(const std::string& path, const std::string& name);
  File(std::string path, Handle handle) : path_(std::move(path)), handle_(std::move(handle)) {}
  std::string path_;
  Handle handle_;
};

inline constexpr std::int64_t chunk_bytes = std::int64_t{1} << 20;

/// This is a one-dimensional extensible data set in chunks with a Fletcher32 checksum each.
template <class T>
class Dataset {
 public:
  static Dataset create(File& file, const std::string& name, std::int64_t chunk_elements);
  static Dataset open(const File& file, const std::string& name);  ///< throws when absent or of another type

  std::int64_t size() const { return size_; }
  const std::string& name() const { return name_; }
  void append(std::span<const T> values);
  void read(std::int64_t first, std::span<T> values) const;  ///< values [first, first + values.size())

 private:
  Dataset(const File& file, std::string name, Handle handle, std::int64_t size)
      : file_(&file), name_(std::move(name)), handle_(std::move(handle)), size_(size) {}
  const File* file_;
  std::string name_;
  Handle handle_;
  std::int64_t size_ = 0;
};

/// Is a data set [rows, elements], contiguous, whose bytes are those of memory.
class RowData {
 public:
  /// Makes the data set and the groups above it.
  static RowData create(File& file, const std::string& name, RowElement type, std::int64_t rows, std::int64_t elements);
  /// Throws InputError when it is absent, or of another type or shape.
  static RowData open(const File& file, const std::string& name, RowElement type, std::int64_t rows,
                      std::int64_t elements);

  /// Write and read the rows from `first` on that the bytes hold.
  void write(std::int64_t first, std::span<const std::byte> rows);
  void read(std::int64_t first, std::span<std::byte> rows) const;
  /// Lets the system begin to read rows that are read later. A hint.
  void begin_read(std::int64_t first, std::int64_t count) const;

 private:
  RowData(const File& file, std::string name, RowElement type, std::int64_t elements, Handle handle)
      : file_(&file), name_(std::move(name)), type_(type), elements_(elements), handle_(std::move(handle)) {}
  /// Returns the spaces in the file and in memory of the rows that the bytes hold.
  std::pair<Handle, Handle> select(std::int64_t first, std::size_t bytes) const;

  const File* file_;
  std::string name_;
  RowElement type_;
  std::int64_t elements_;
  Handle handle_;
};

}  // namespace shardmark::datasets::hdf5
