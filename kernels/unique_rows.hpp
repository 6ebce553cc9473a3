// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <limits>
#include <string>

#include "kernels/array.hpp"
#include "kernels/device/radix_sort.hpp"
#include "kernels/prefetch.hpp"
#include "kernels/work.hpp"
#include "reference/error.hpp"

namespace shardmark::kernels {

/// The distinct rows among n positions. Row u in [0, count()) has key(u), ascending, and is used by the positions
/// position(begin(u)), .., position(begin(u + 1) - 1), in the order in which they were given. count() is known to the
/// device: see host_count.
template <class Exec>
struct UniqueRows {
  Array<Exec, std::uint64_t> words;    ///< [n] key above position, by ascending key
  Array<Exec, std::int64_t> segments;  ///< [count + 1] where a key's words begin
  Array<Exec, std::int64_t> total;     ///< [1] count
  int position_bits = 0;               ///< of a word, below its key

  std::int64_t positions() const { return static_cast<std::int64_t>(words.extent(0)); }
  KOKKOS_INLINE_FUNCTION std::int64_t count() const { return total(0); }
  KOKKOS_INLINE_FUNCTION std::int64_t key(std::int64_t u) const {
    return static_cast<std::int64_t>(words(segments(u)) >> position_bits);
  }
  KOKKOS_INLINE_FUNCTION std::int64_t begin(std::int64_t u) const { return segments(u); }
  KOKKOS_INLINE_FUNCTION std::int64_t position(std::int64_t i) const {
    return static_cast<std::int64_t>(words(i) & ((std::uint64_t{1} << position_bits) - 1));
  }
};

/// How many distinct rows there are. Waits for the device.
template <class Exec, class Unique>
std::int64_t host_count(const Exec& exec, const Unique& unique) {
  std::int64_t count = 0;
  const Kokkos::View<std::int64_t, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> host(&count);
  Kokkos::deep_copy(exec, host, Kokkos::subview(unique.total, 0));
  exec.fence("shardmark: the count of distinct rows");
  return count;
}

/// inverse[p] = number of the distinct row of position p. inverse: [n].
template <class Exec>
void invert_unique_rows(const Exec& exec, const UniqueRows<Exec>& unique, Array<Exec, std::int64_t> inverse) {
  Kokkos::parallel_for(
      "shardmark::invert_unique_rows", static_range(exec, unique.positions()), KOKKOS_LAMBDA(const std::int64_t u) {
        if (u >= unique.count()) return;
        for (std::int64_t i = unique.begin(u); i < unique.begin(u + 1); ++i) inverse(unique.position(i)) = u;
      });
}

template <class Exec>
struct UniqueRowsWorkspace {
  Scratch<Exec, std::uint64_t> words{"shardmark::unique_words"};
  Scratch<Exec, std::uint64_t> sorted{"shardmark::unique_sorted"};
  Scratch<Exec, std::uint32_t> histograms{"shardmark::unique_histograms"};
  Scratch<Exec, std::int64_t> segments{"shardmark::unique_segments"};
  Scratch<Exec, std::int64_t> total{"shardmark::unique_total"};
};

/// How the radix sort sees n keys below one bound with positions below another: words of key bits above position bits,
/// as few passes as 13-bit digits allow, and the digits then made equally wide.
struct RadixPlan {
  int position_bits = 0;
  int passes = 1;
  int digit_bits = 1;

  RadixPlan(std::int64_t n, std::int64_t position_bound, std::int64_t key_bound) {
    const auto bits_below = [](std::int64_t bound) {
      return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(bound, 1) - 1)));
    };
    const int key_bits = std::max(1, bits_below(key_bound));
    position_bits = bits_below(position_bound);
    if (key_bits + position_bits > 64 || n > std::numeric_limits<std::uint32_t>::max())
      throw InputError("unique rows: " + std::to_string(n) + " ids with positions below " +
                       std::to_string(position_bound) + " into " + std::to_string(key_bound) +
                       " rows of one rank need more than 64 bits per id or 32 to count them; use a smaller batch or "
                       "more ranks");
    passes = (key_bits + largest_digit_bits - 1) / largest_digit_bits;
    digit_bits = (key_bits + passes - 1) / passes;
  }

 private:
  static constexpr int largest_digit_bits = 13;
};

/// One stable pass of the sort: chunk c of the words, in order, goes behind the same digits of the chunks before it.
/// source(i): word i of the input.
template <class Exec, class Source>
void radix_pass(const Exec& exec, std::int64_t n, int shift, int digit_bits, const Source& source,
                const Array<Exec, std::uint64_t>& target, Scratch<Exec, std::uint32_t>& scratch) {
  constexpr std::int64_t smallest_chunk = 4096;
  constexpr auto line =
      cache_line / std::int64_t{sizeof(std::uint64_t)};  // the next of a digit comes while one is filled
  const std::int64_t chunks = std::max<std::int64_t>(1, std::min<std::int64_t>(exec.concurrency(), n / smallest_chunk));
  const std::int64_t chunk_size = (n + chunks - 1) / chunks;
  const std::int64_t digits = std::int64_t{1} << digit_bits;
  const Array<Exec, std::uint32_t> histograms = scratch.first(chunks * digits);
  const std::uint64_t mask = static_cast<std::uint64_t>(digits) - 1;
  Kokkos::parallel_for(
      "shardmark::radix_count", static_range(exec, chunks), KOKKOS_LAMBDA(const std::int64_t chunk) {
        std::uint32_t* histogram = &histograms(chunk * digits);
        for (std::int64_t d = 0; d < digits; ++d) histogram[d] = 0;
        const std::int64_t end = Kokkos::min(n, (chunk + 1) * chunk_size);
        for (std::int64_t i = chunk * chunk_size; i < end; ++i) ++histogram[(source(i) >> shift) & mask];
      });
  Kokkos::parallel_scan(
      "shardmark::radix_scan", static_range(exec, digits),
      KOKKOS_LAMBDA(const std::int64_t digit, std::uint32_t& sum, const bool final) {
        for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
          std::uint32_t& cell = histograms(chunk * digits + digit);
          const std::uint32_t size = cell;
          if (final) cell = sum;
          sum += size;
        }
      });
  Kokkos::parallel_for(
      "shardmark::radix_scatter", static_range(exec, chunks), KOKKOS_LAMBDA(const std::int64_t chunk) {
        std::uint32_t* histogram = &histograms(chunk * digits);
        const std::int64_t end = Kokkos::min(n, (chunk + 1) * chunk_size);
        for (std::int64_t i = chunk * chunk_size; i < end; ++i) {
          const std::uint64_t word = source(i);
          const std::uint32_t place = histogram[(word >> shift) & mask]++;
          target(place) = word;
          prefetch_to_write(target.data() + place + line);
        }
      });
}

/// A key above its position, which is `positions`, or where that is empty 0, 1, ..
template <class Exec>
struct KeyWords {
  ConstArray<Exec, std::int64_t> keys, positions;
  int position_bits;

  KOKKOS_FUNCTION std::uint64_t operator()(std::int64_t i) const {
    const std::int64_t position = positions.extent(0) > 0 ? positions(i) : i;
    return static_cast<std::uint64_t>(keys(i)) << position_bits | static_cast<std::uint64_t>(position);
  }
};

/// The words of all positions sorted by key, stably. The result lives in `workspace`.
template <class Exec>
Array<Exec, std::uint64_t> sorted_words(const Exec& exec, const KeyWords<Exec>& source, const RadixPlan& plan,
                                        UniqueRowsWorkspace<Exec>& workspace) {
  const auto n = static_cast<std::int64_t>(source.keys.extent(0));
  Array<Exec, std::uint64_t> words = workspace.words.first(n);
  Array<Exec, std::uint64_t> other = workspace.sorted.first(n);
  radix_pass(exec, n, plan.position_bits, plan.digit_bits, source, words, workspace.histograms);
  for (int pass = 1; pass < plan.passes; ++pass) {
    radix_pass(exec, n, plan.position_bits + pass * plan.digit_bits, plan.digit_bits, words, other,
               workspace.histograms);
    std::swap(words, other);
  }
  return words;
}
#ifdef KOKKOS_ENABLE_CUDA
template <class Exec>
requires std::is_same_v<Exec, Kokkos::Cuda> Array<Exec, std::uint64_t> sorted_words(
    const Exec& exec, const KeyWords<Exec>& source, const RadixPlan& plan, UniqueRowsWorkspace<Exec>& workspace) {
  const auto n = static_cast<std::int64_t>(source.keys.extent(0));
  const auto words = workspace.words.first(n);
  Kokkos::parallel_for(
      "shardmark::unique_words", static_range(exec, n), KOKKOS_LAMBDA(const std::int64_t i) { words(i) = source(i); });
  const int end = std::min(64, plan.position_bits + plan.passes * plan.digit_bits);
  return device::radix_sort<Exec>(exec, words, workspace.sorted.first(n), plan.position_bits, end,
                                  workspace.histograms);
}
#endif

/// Where the words of each key begin, and how many keys there are, of sorted words. A block of words lists its own
/// beginnings, without a branch, before it knows where they go.
template <class Exec>
void mark_distinct(const Exec& exec, const UniqueRows<Exec>& unique) {
  constexpr std::int64_t block_size = on_device<Exec> ? 4 : 512;
  const std::int64_t n = unique.positions();
  Kokkos::parallel_scan(
      "shardmark::unique_segments", static_range(exec, Kokkos::max((n + block_size - 1) / block_size, std::int64_t{1})),
      KOKKOS_LAMBDA(const std::int64_t block, std::int64_t& rows, const bool final) {
        const std::uint64_t* words = unique.words.data();
        const int position_bits = unique.position_bits;
        const std::int64_t begin = block * block_size, end = Kokkos::min(n, begin + block_size);
        std::int64_t begins[block_size + 1];
        std::int64_t count = 0;
        for (std::int64_t i = begin; i < end; ++i) {
          begins[count] = i;
          count += i == 0 || (words[i - 1] ^ words[i]) >> position_bits != 0;
        }
        if (final) {
          for (std::int64_t k = 0; k < count; ++k) unique.segments(rows + k) = begins[k];
          if (end == n) {
            unique.segments(rows + count) = n;
            unique.total(0) = rows + count;
          }
        }
        rows += count;
      });
}

/// Sorts positions by key, stably, and marks the distinct keys. keys: [n], each in [0, key_bound); positions: [n], each
/// in [0, position_bound), or empty for 0 .. n - 1.
/// Parallel least-significant-digit radix sort (Zagha and Blelloch 1991); a stable sort has one result, so it is the
/// same for any number of threads. The result lives in `workspace` until the next call with it. Throws InputError when
/// a key and a position together need more than 64 bits.
template <class Exec>
UniqueRows<Exec> unique_rows(const Exec& exec, ConstArray<Exec, std::int64_t> keys, std::int64_t key_bound,
                             ConstArray<Exec, std::int64_t> positions, std::int64_t position_bound,
                             UniqueRowsWorkspace<Exec>& workspace) {
  const auto n = static_cast<std::int64_t>(keys.extent(0));
  const RadixPlan plan(n, position_bound, key_bound);
  const Array<Exec, std::uint64_t> words =
      sorted_words(exec, KeyWords<Exec>{keys, positions, plan.position_bits}, plan, workspace);
  const UniqueRows<Exec> unique{words, workspace.segments.first(n + 1), workspace.total.first(1), plan.position_bits};
  mark_distinct(exec, unique);
  return unique;
}

/// The same of positions 0 .. n - 1.
template <class Exec>
UniqueRows<Exec> unique_rows(const Exec& exec, ConstArray<Exec, std::int64_t> keys, std::int64_t key_bound,
                             UniqueRowsWorkspace<Exec>& workspace) {
  return unique_rows<Exec>(exec, keys, key_bound, {}, static_cast<std::int64_t>(keys.extent(0)), workspace);
}

/// Work of unique_rows on n keys: each pass reads the words twice and writes them once.
inline Work unique_rows_work(std::int64_t n, std::int64_t key_bound, std::int64_t unique) {
  const std::int64_t passes = RadixPlan(n, n, key_bound).passes;
  return {.bytes_read = passes * n * 16 + n * 8, .bytes_written = passes * n * 8 + unique * 8, .flops = 0};
}

}  // namespace shardmark::kernels
