// SPDX-License-Identifier: Apache-2.0
#include "kernels/guard_bands.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/array.hpp"

namespace shardmark::kernels {
namespace {

/// The pattern is not a number as fp32, bf16 and fp16, and beyond all rows as an id. The same bytes stand at all
/// addresses that are equal modulo its size.
constexpr std::uint32_t pattern = 0x7FA57FA5;

struct Band {
  std::byte* begin;
  std::size_t bytes;
  std::string where;
};

/// Calls body(place in the band, the bytes that belong there, how many) for all of a band, piece by piece.
template <class Body>
void for_each_piece(const Band& band, const Body& body) {
  static const std::vector<std::uint32_t> repeated(guard_bytes / sizeof pattern + 2, pattern);
  const std::byte* const bytes = reinterpret_cast<const std::byte*>(repeated.data()) +
                                 reinterpret_cast<std::uintptr_t>(band.begin) % sizeof pattern;
  for (std::size_t at = 0; at < band.bytes; at += guard_bytes)
    body(band.begin + at, bytes, std::min(guard_bytes, band.bytes - at));
}

void fill(const Band& band) {
  for_each_piece(band,
                 [](std::byte* place, const std::byte* bytes, std::size_t count) { std::memcpy(place, bytes, count); });
}

/// Holds all bands of this process, and what was found of those that are gone.
class Guard {
 public:
  void add(const Band& band) {
    const std::scoped_lock lock(mutex_);
    fill(band);
    bands_.insert(&band);
  }
  void remove(const Band& band) {
    const std::scoped_lock lock(mutex_);
    inspect(band);
    bands_.erase(&band);
  }
  void keep(std::function<bool()> in_use) {
    if (is_full()) drop_unused();
    const std::scoped_lock lock(mutex_);
    arrays_.push_back(std::move(in_use));
  }
  std::vector<std::string> written() {
    drop_unused();
    const std::scoped_lock lock(mutex_);
    for (const Band* band : bands_) inspect(*band);
    return std::exchange(written_, {});
  }

 private:
  void inspect(const Band& band) {
    bool whole = true;
    for_each_piece(band, [&](const std::byte* place, const std::byte* bytes, std::size_t count) {
      if (!whole || std::memcmp(place, bytes, count) == 0) return;
      const std::byte* const first = std::mismatch(place, place + count, bytes).first;
      written_.push_back(band.where + ", from byte " + std::to_string(first - band.begin) + " on");
      whole = false;
    });
    if (!whole) fill(band);
  }
  bool is_full() {
    const std::scoped_lock lock(mutex_);
    return arrays_.size() >= most_arrays_;
  }
  /// Drops arrays that nobody else uses: it inspects all, and does so again when there are twice as many.
  void drop_unused() {
    std::list<std::function<bool()>> unused;  // goes when the lock is open, with its bands
    const std::scoped_lock lock(mutex_);
    for (auto array = arrays_.begin(); array != arrays_.end();) {
      const auto next = std::next(array);
      if (!(*array)()) unused.splice(unused.end(), arrays_, array);
      array = next;
    }
    most_arrays_ = std::max(least_arrays, 2 * arrays_.size());
  }

  static constexpr std::size_t least_arrays = 64;

  std::mutex mutex_;
  std::size_t most_arrays_ = least_arrays;
  std::set<const Band*> bands_;
  std::list<std::function<bool()>> arrays_;
  std::vector<std::string> written_;
};

Guard& guard() {
  static Guard all;
  return all;
}

}  // namespace

std::shared_ptr<const void> guard_band(void* begin, std::size_t bytes, std::string where) {
  auto* const band = new Band{static_cast<std::byte*>(begin), bytes, std::move(where)};
  guard().add(*band);
  return {static_cast<const void*>(band), [](const void* gone) {
            const std::unique_ptr<const Band> owned(static_cast<const Band*>(gone));
            guard().remove(*owned);
          }};
}

void guard_array(const Kokkos::Impl::SharedAllocationTracker& array, const std::string& label, void* begin, void* end,
                 std::size_t band) {
  struct Kept {
    Kokkos::Impl::SharedAllocationTracker array;
    std::shared_ptr<const void> before, behind;
  };
  const auto kept = std::make_shared<const Kept>(
      Kept{array, guard_band(static_cast<std::byte*>(begin) - band, band, "before " + label),
           guard_band(end, band, "behind " + label)});
  guard().keep([kept] { return kept->array.use_count() > 1; });
}

void check_guard_bands() {
  const auto written = guard().written();
  if (written.empty()) return;
  constexpr std::size_t most = 4;
  std::string text = "written beyond an array:";
  for (std::size_t i = 0; i < std::min(most, written.size()); ++i) text += (i == 0 ? " " : "; ") + written[i];
  if (written.size() > most) text += "; and " + std::to_string(written.size() - most) + " more";
  throw std::runtime_error(text);
}

}  // namespace shardmark::kernels
