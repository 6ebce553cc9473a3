// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardmark::comm {

/// Counts the bytes that one rank sends to each rank, where they are sent, in sections that the caller numbers (the
/// phases of a step). What a rank keeps for itself is not counted, nor the few numbers by which ranks exchange the
/// sizes of messages before a route is first used.
class SentBytes {
 public:
  /// Holds the bytes of one section, by rank.
  struct Bytes {
    std::vector<std::int64_t> payload;  ///< what this rank has for the other
    std::vector<std::int64_t> sent;     ///< what it sends to it: other ranks' bytes on their way, too
  };

  SentBytes(int rank, int ranks, std::size_t sections = 1)
      : rank_(rank), sections_(sections, {std::vector<std::int64_t>(ranks), std::vector<std::int64_t>(ranks)}) {}

  /// Opens `section`: what is added from now on belongs to it, and what was counted in it before is forgotten.
  void begin(std::size_t section) {
    open_ = section;
    for (auto* bytes : {&sections_[open_].payload, &sections_[open_].sent}) bytes->assign(bytes->size(), 0);
  }

  /// Adds payload that goes to `peer` directly.
  void add(std::int64_t peer, std::int64_t bytes) { add(peer, bytes, bytes); }

  void add(std::int64_t peer, std::int64_t payload, std::int64_t sent) {
    if (peer == rank_) return;
    sections_[open_].payload[peer] += payload;
    sections_[open_].sent[peer] += sent;
  }

  SentBytes& operator+=(const SentBytes& other) {
    const auto add_to = [](std::vector<std::int64_t>& sum, const std::vector<std::int64_t>& more) {
      for (std::size_t r = 0; r < sum.size(); ++r) sum[r] += more[r];
    };
    for (std::size_t s = 0; s < sections_.size(); ++s) {
      add_to(sections_[s].payload, other.sections_[s].payload);
      add_to(sections_[s].sent, other.sections_[s].sent);
    }
    return *this;
  }

  const Bytes& to_ranks(std::size_t section) const { return sections_[section]; }

 private:
  int rank_;
  std::size_t open_ = 0;
  std::vector<Bytes> sections_;
};

}  // namespace shardmark::comm
