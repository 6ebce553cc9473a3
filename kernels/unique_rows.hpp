// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <string>

#include "kernels/array.hpp"
#include "kernels/device/radix_sort.hpp"
#include "kernels/work.hpp"
#include "reference/error.hpp"

namespace shardmark::kernels {

/// The distinct rows among n positions. Row u in [0, count()) has key(u), ascending, and is used by the positions
/// position(begin(u)), .., position(begin(u + 1) - 1), ascending. count() is known to the device: see host_count.
template <class Exec>
struct UniqueRows {
  Array<Exec, std::int64_t> order;     ///< [n] positions sorted by key, ascending within a key
  Array<Exec, std::int64_t> segments;  ///< [count + 1] where a key's positions begin in `order`
  Array<Exec, std::int64_t> keys;      ///< [count]
  Array<Exec, std::int64_t> total;     ///< [1] count

  std::int64_t positions() const { return static_cast<std::int64_t>(order.extent(0)); }
  KOKKOS_INLINE_FUNCTION std::int64_t count() const { return total(0); }
  KOKKOS_INLINE_FUNCTION std::int64_t key(std::int64_t u) const { return keys(u); }
  KOKKOS_INLINE_FUNCTION std::int64_t begin(std::int64_t u) const { return segments(u); }
  KOKKOS_INLINE_FUNCTION std::int64_t position(std::int64_t i) const { return order(i); }
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
  Scratch<Exec, std::int64_t> histograms{"shardmark::unique_histograms"};
  Scratch<Exec, std::int64_t> order{"shardmark::unique_order"};
  Scratch<Exec, std::int64_t> segments{"shardmark::unique_segments"};
  Scratch<Exec, std::int64_t> keys{"shardmark::unique_keys"};
  Scratch<Exec, std::int64_t> total{"shardmark::unique_total"};
};

/// How the radix sort sees n keys below a bound: words of key bits above position bits, as few passes as 11-bit digits
/// allow, and the digits then made equally wide.
struct RadixPlan {
  int position_bits = 0;
  int passes = 1;
  int digit_bits = 1;

  RadixPlan(std::int64_t n, std::int64_t key_bound) {
    const int key_bits = std::max(
        1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(key_bound, 1) - 1))));
    position_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1) - 1)));
    if (key_bits + position_bits > 64)
      throw InputError("unique rows: " + std::to_string(n) + " ids into " + std::to_string(key_bound) +
                       " rows of one rank need more than 64 bits per id; use a smaller batch or more ranks");
    passes = (key_bits + 10) / 11;
    digit_bits = (key_bits + passes - 1) / passes;
  }
};

/// One stable pass of the sort: chunk c of the words, in order, goes behind the same digits of the chunks before it.
/// source(i): word i of the input.
template <class Exec, class Source>
void radix_pass(const Exec& exec, std::int64_t n, int shift, int digit_bits, const Source& source,
                const Array<Exec, std::uint64_t>& target, Scratch<Exec, std::int64_t>& scratch) {
  constexpr std::int64_t smallest_chunk = 4096;
  const std::int64_t chunks = std::max<std::int64_t>(1, std::min<std::int64_t>(exec.concurrency(), n / smallest_chunk));
  const std::int64_t chunk_size = (n + chunks - 1) / chunks;
  const std::int64_t digits = std::int64_t{1} << digit_bits;
  const Array<Exec, std::int64_t> histograms = scratch.first(chunks * digits);
  const std::uint64_t mask = static_cast<std::uint64_t>(digits) - 1;
  Kokkos::parallel_for(
      "shardmark::radix_count", static_range(exec, chunks), KOKKOS_LAMBDA(const std::int64_t chunk) {
        std::int64_t* histogram = &histograms(chunk * digits);
        for (std::int64_t d = 0; d < digits; ++d) histogram[d] = 0;
        const std::int64_t end = Kokkos::min(n, (chunk + 1) * chunk_size);
        for (std::int64_t i = chunk * chunk_size; i < end; ++i) ++histogram[(source(i) >> shift) & mask];
      });
  Kokkos::parallel_scan(
      "shardmark::radix_scan", static_range(exec, chunks * digits),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& sum, const bool final) {
        std::int64_t& cell = histograms((i % chunks) * digits + i / chunks);
        const std::int64_t size = cell;
        if (final) cell = sum;
        sum += size;
      });
  Kokkos::parallel_for(
      "shardmark::radix_scatter", static_range(exec, chunks), KOKKOS_LAMBDA(const std::int64_t chunk) {
        std::int64_t* histogram = &histograms(chunk * digits);
        const std::int64_t end = Kokkos::min(n, (chunk + 1) * chunk_size);
        for (std::int64_t i = chunk * chunk_size; i < end; ++i) {
          const std::uint64_t word = source(i);
          target(histogram[(word >> shift) & mask]++) = word;
        }
      });
}

/// A key above its position.
template <class Exec>
struct KeyWords {
  ConstArray<Exec, std::int64_t> keys;
  int position_bits;

  KOKKOS_FUNCTION std::uint64_t operator()(std::int64_t i) const {
    return static_cast<std::uint64_t>(keys(i)) << position_bits | static_cast<std::uint64_t>(i);
  }
};

/// The words of all positions sorted by key, stably. The result lives in `workspace`.
template <class Exec>
Array<Exec, std::uint64_t> sorted_words(const Exec& exec, const ConstArray<Exec, std::int64_t>& keys,
                                        const RadixPlan& plan, UniqueRowsWorkspace<Exec>& workspace) {
  const auto n = static_cast<std::int64_t>(keys.extent(0));
  Array<Exec, std::uint64_t> words = workspace.words.first(n);
  Array<Exec, std::uint64_t> other = workspace.sorted.first(n);
  radix_pass(exec, n, plan.position_bits, plan.digit_bits, KeyWords<Exec>{keys, plan.position_bits}, words,
             workspace.histograms);
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
    const Exec& exec, const ConstArray<Exec, std::int64_t>& keys, const RadixPlan& plan,
    UniqueRowsWorkspace<Exec>& workspace) {
  const auto n = static_cast<std::int64_t>(keys.extent(0));
  const auto words = workspace.words.first(n);
  const KeyWords<Exec> word{keys, plan.position_bits};
  Kokkos::parallel_for(
      "shardmark::unique_words", static_range(exec, n), KOKKOS_LAMBDA(const std::int64_t i) { words(i) = word(i); });
  const int end = std::min(64, plan.position_bits + plan.passes * plan.digit_bits);
  return device::radix_sort<Exec>(exec, words, workspace.sorted.first(n), plan.position_bits, end,
                                  workspace.histograms);
}
#endif

/// Sorts positions 0 .. n-1 by key, stably, and marks the distinct keys. keys: [n], each in [0, key_bound).
/// Parallel least-significant-digit radix sort (Zagha and Blelloch 1991); a stable sort has one result, so it is the
/// same for any number of threads. The result lives in `workspace` until the next call with it. Throws InputError when
/// a key and a position together need more than 64 bits.
template <class Exec>
UniqueRows<Exec> unique_rows(const Exec& exec, ConstArray<Exec, std::int64_t> keys, std::int64_t key_bound,
                             UniqueRowsWorkspace<Exec>& workspace) {
  const auto n = static_cast<std::int64_t>(keys.extent(0));
  const RadixPlan plan(n, key_bound);
  const int position_bits = plan.position_bits;
  const Array<Exec, std::uint64_t> words = sorted_words(exec, keys, plan, workspace);
  const UniqueRows<Exec> unique{workspace.order.first(n), workspace.segments.first(n + 1), workspace.keys.first(n),
                                workspace.total.first(1)};
  const std::uint64_t position_mask = (std::uint64_t{1} << position_bits) - 1;
  Kokkos::parallel_scan(
      "shardmark::unique_segments", static_range(exec, n + 1),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& rows, const bool final) {
        if (i == n) {
          if (final) {
            unique.segments(rows) = n;
            unique.total(0) = rows;
          }
          return;
        }
        const std::uint64_t key = words(i) >> position_bits;
        const bool first = i == 0 || words(i - 1) >> position_bits != key;
        if (final) {
          unique.order(i) = static_cast<std::int64_t>(words(i) & position_mask);
          if (first) {
            unique.keys(rows) = static_cast<std::int64_t>(key);
            unique.segments(rows) = i;
          }
        }
        rows += first;
      });
  return unique;
}

/// Work of unique_rows on n keys: each pass reads the words twice and writes them once.
inline Work unique_rows_work(std::int64_t n, std::int64_t key_bound, std::int64_t unique) {
  const std::int64_t passes = RadixPlan(n, key_bound).passes;
  return {.bytes_read = passes * n * 16 + n * 8, .bytes_written = passes * n * 8 + n * 8 + unique * 16, .flops = 0};
}

}  // namespace shardmark::kernels
