// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace shardmark::datasets {

/// Reads the bytes of a file, decompressed when its name ends in .gz (zlib; several members are read one after another)
/// or .zst (libzstd; several frames likewise).
class ByteReader {
 public:
  virtual ~ByteReader() = default;

  /// Fills `buffer` and returns the bytes read; fewer than its size only at the end of the file.
  /// Throws InputError naming the file when it cannot be read, is corrupt or is truncated.
  virtual std::size_t read(std::span<char> buffer) = 0;
};

/// Compresses by the same extensions into an OutputFile.
class ByteWriter {
 public:
  virtual ~ByteWriter() = default;
  virtual void write(std::string_view bytes) = 0;  ///< throws InputError naming the file
  virtual void finish() = 0;                       ///< without it nothing remains
};

/// These functions throw InputError naming the file when it cannot be opened or created.
std::unique_ptr<ByteReader> open_bytes(const std::string& path);
std::unique_ptr<ByteWriter> create_bytes(const std::string& path);

}  // namespace shardmark::datasets
