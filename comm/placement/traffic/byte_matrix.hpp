// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace shardmark::placement {

/// Holds the bytes that rank `from` sends to rank `to`. add() does not count what stays on a rank; set() may.
class ByteMatrix {
 public:
  explicit ByteMatrix(int ranks = 0)
      : ranks_(ranks), bytes_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks)) {}

  int ranks() const { return ranks_; }
  std::int64_t operator()(int from, int to) const { return bytes_[index(from, to)]; }
  void add(int from, int to, std::int64_t bytes) {
    if (from != to) bytes_[index(from, to)] += bytes;
  }
  void set(int from, int to, std::int64_t bytes) { bytes_[index(from, to)] = bytes; }
  ByteMatrix& operator+=(const ByteMatrix& other) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] += other.bytes_[i];
    return *this;
  }
  std::int64_t sent_by(int from) const {
    std::int64_t sum = 0;
    for (int to = 0; to < ranks_; ++to) sum += (*this)(from, to);
    return sum;
  }
  std::int64_t received_by(int to) const {
    std::int64_t sum = 0;
    for (int from = 0; from < ranks_; ++from) sum += (*this)(from, to);
    return sum;
  }
  /// Returns the most that any rank sends or receives, including what set() counted as staying on it.
  std::int64_t busiest() const {
    std::int64_t most = 0;
    for (int rank = 0; rank < ranks_; ++rank) most = std::max({most, sent_by(rank), received_by(rank)});
    return most;
  }
  bool operator==(const ByteMatrix&) const = default;

 private:
  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(to);
  }

  int ranks_;
  std::vector<std::int64_t> bytes_;
};

}  // namespace shardmark::placement
