// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace shardmark::comm {

/// Holds the bytes that pass through a rank in an exchange: it grows and never shrinks. It is filled, or cut into
/// parts, from its beginning.
class ByteBuffer {
 public:
  /// Forgets its contents and makes room for `size` bytes.
  void restart(std::size_t size) {
    if (bytes_.size() < size) bytes_.resize(size);
    used_ = 0;
  }

  /// Returns the next `size` bytes.
  std::span<std::byte> take(std::size_t size) {
    const auto part = std::span(bytes_).subspan(used_, size);
    used_ += size;
    return part;
  }

  void append(std::span<const std::byte> bytes) {
    if (!bytes.empty()) std::memcpy(take(bytes.size()).data(), bytes.data(), bytes.size());
  }

  /// Returns what was taken and appended since the byte `begin`.
  std::span<std::byte> since(std::size_t begin) { return std::span(bytes_).subspan(begin, used_ - begin); }
  std::size_t used() const { return used_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t used_ = 0;
};

}  // namespace shardmark::comm
