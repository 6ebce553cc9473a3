// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <vector>

#include "kernels/array.hpp"

namespace shardmark::kernels {

/// Hands out runs of lines in the memory of Exec, best fit first; runs that come back are joined with their neighbours.
/// Memory is asked for in pieces of a quarter of what there is, up to two huge pages, and of a sixteenth of what is
/// larger, so that it grows with the table, and no piece moves. Line: of cache_line bytes.
template <class Exec, class Line>
class LineArena {
  static_assert(sizeof(Line) == cache_line);

 public:
  explicit LineArena(std::string label) : label_(std::move(label)) {}

  /// Returns a run, uninitialised.
  Line* take(std::uint32_t lines) {
    auto fit = by_size_.lower_bound({lines, nullptr});
    if (fit == by_size_.end()) {
      add_piece(lines);
      fit = by_size_.lower_bound({lines, nullptr});
    }
    const auto [size, run] = *fit;
    remove_free(run);
    if (size > lines) add_free(run + lines, size - lines);
    free_lines_ -= lines;
    return run;
  }

  void give(Line* run, std::uint32_t lines) {
    std::size_t size = lines;
    free_lines_ += lines;
    const auto behind = by_place_.upper_bound(run);
    if (behind != by_place_.end() && behind->first == run + size && !pieces_.contains(behind->first)) {
      size += behind->second;
      remove_free(behind->first);
    }
    const auto after = by_place_.upper_bound(run);
    if (after != by_place_.begin() && !pieces_.contains(run)) {
      const auto [before, before_size] = *std::prev(after);
      if (before + before_size == run) {
        remove_free(before);
        run = before;
        size += before_size;
      }
    }
    add_free(run, size);
  }

  std::int64_t lines() const { return lines_; }
  std::int64_t free_lines() const { return free_lines_; }

 private:
  void add_piece(std::int64_t lines) {
    constexpr std::int64_t least = 64, in_huge_pages = 2 * huge_page / sizeof(Line);
    const std::int64_t size = std::max({lines, least, lines_ / 16, std::min(lines_ / 4, in_huge_pages)});
    const auto piece = allocate<Exec, Line>(label_, size);
    pieces_.emplace(piece.data(), piece);
    lines_ += size;
    free_lines_ += size;
    add_free(piece.data(), static_cast<std::size_t>(size));
  }
  void add_free(Line* run, std::size_t size) {
    by_place_.emplace(run, size);
    by_size_.emplace(size, run);
  }
  void remove_free(Line* run) {
    const auto found = by_place_.find(run);
    by_size_.erase({found->second, run});
    by_place_.erase(found);
  }

  std::string label_;
  std::map<Line*, Array<Exec, Line>> pieces_;
  std::map<Line*, std::size_t> by_place_;            ///< free runs and their lines
  std::set<std::pair<std::size_t, Line*>> by_size_;  ///< the same
  std::int64_t lines_ = 0, free_lines_ = 0;
};

}  // namespace shardmark::kernels
