// SPDX-License-Identifier: Apache-2.0
#include "kernels/sort/unique_rows.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/sort/balanced_ranges.hpp"
#include "kernels/sort/device_radix_sort.hpp"
#include "kernels/sort/device_segments.hpp"
#include "kernels/sort/radix_sort.hpp"
#include "kernels/sort/shard_words.hpp"

namespace shardmark::kernels {

template <class Exec>
std::int64_t host_count(const Exec& exec, const UniqueRows<Exec>& unique) {
  std::int64_t count = 0;
  const Kokkos::View<std::int64_t, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> host(&count);
  Kokkos::deep_copy(exec, host, Kokkos::subview(unique.total, 0));
  exec.fence("shardmark: the count of distinct rows");
  return count;
}

template <class Exec>
void invert_unique_rows(const Exec& exec, const UniqueRows<Exec>& unique, ConstArray<Exec, std::int64_t> first_keys,
                        ConstArray<Exec, std::int64_t> shift, Array<Exec, std::int64_t> inverse) {
  constexpr std::int64_t block_size = items_in_a_row<Exec>;
  const auto shards = static_cast<std::int64_t>(first_keys.extent(0));
  Kokkos::parallel_for(
      "shardmark::invert_unique_rows", static_range(exec, (unique.positions() + block_size - 1) / block_size),
      KOKKOS_LAMBDA(const std::int64_t block) {
        const std::int64_t begin = block * block_size, end = Kokkos::min(unique.count(), begin + block_size);
        if (begin >= end) return;
        RangeWalk shard(first_keys.data(), shards, unique.key(begin));
        for (std::int64_t u = begin; u < end; ++u) {
          const std::int64_t row = u + shift(block_size == 1 ? shard.range : shard.to(unique.key(u)));
          for (std::int64_t i = unique.begin(u); i < unique.begin(u + 1); ++i) inverse(unique.position(i)) = row;
        }
      });
}

/// Says which digit of its key a word has.
struct KeyDigit {
  int shift, bits;

  KOKKOS_FUNCTION std::uint64_t operator()(std::int64_t, std::uint64_t word) const {
    return (word >> shift) & ((std::uint64_t{1} << bits) - 1);
  }
};

/// Makes one stable pass of a sort: chunk c of the words, in order, goes behind the same digits of the chunks before
/// it. Returns where the words of each digit end. source(i): word i of the input; digit_of(i, word): below `digits`.
template <class Exec, class Source, class Digit>
Array<Exec, std::uint32_t> radix_pass(const Exec& exec, std::int64_t n, std::int64_t digits, const Digit& digit_of,
                                      const Source& source, const Array<Exec, std::uint64_t>& target,
                                      Scratch<Exec, std::uint32_t>& scratch) {
  constexpr std::int64_t smallest_chunk = 4096;
  constexpr auto line =
      cache_line / std::int64_t{sizeof(std::uint64_t)};  // the next of a digit comes while one is filled
  const std::int64_t chunks = std::max<std::int64_t>(1, std::min<std::int64_t>(exec.concurrency(), n / smallest_chunk));
  const std::int64_t chunk_size = (n + chunks - 1) / chunks;
  const Array<Exec, std::uint32_t> histograms = scratch.first(chunks * digits);
  Kokkos::parallel_for(
      "shardmark::radix_count", static_range(exec, chunks), KOKKOS_LAMBDA(const std::int64_t chunk) {
        std::uint32_t* histogram = &histograms(chunk * digits);
        for (std::int64_t d = 0; d < digits; ++d) histogram[d] = 0;
        const std::int64_t end = Kokkos::min(n, (chunk + 1) * chunk_size);
        for (std::int64_t i = chunk * chunk_size; i < end; ++i) ++histogram[digit_of(i, source(i))];
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
          const std::uint32_t place = histogram[digit_of(i, word)]++;
          target(place) = word;
          prefetch_to_write(target.data() + place + line);
        }
      });
  return Kokkos::subview(histograms, std::pair((chunks - 1) * digits, chunks * digits));
}

/// Returns the words of all positions sorted by key, stably. The result lives in `workspace`.
template <class Exec>
Array<Exec, std::uint64_t> sorted_words(const Exec& exec, const KeyWords<Exec>& source, const RadixPlan& plan,
                                        UniqueRowsWorkspace<Exec>& workspace) {
  const auto n = static_cast<std::int64_t>(source.keys.extent(0));
  Array<Exec, std::uint64_t> words = workspace.words.first(n);
  Array<Exec, std::uint64_t> other = workspace.sorted.first(n);
  const std::int64_t digits = std::int64_t{1} << plan.digit_bits;
  radix_pass(exec, n, digits, KeyDigit{plan.position_bits, plan.digit_bits}, source, words, workspace.histograms);
  for (int pass = 1; pass < plan.passes; ++pass) {
    radix_pass(exec, n, digits, KeyDigit{plan.position_bits + pass * plan.digit_bits, plan.digit_bits}, words, other,
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
  return device::radix_sort<Exec>(exec, words, workspace.sorted.first(n), plan.position_bits,
                                  plan.position_bits + plan.key_bits, workspace.histograms);
}
#endif

/// Finds where the words of each key begin among sorted words, and how many keys there are. A block of words lists its
/// own beginnings without a branch.
template <class Exec>
void find_segments(const Exec& exec, const UniqueRows<Exec>& unique, UniqueRowsWorkspace<Exec>&) {
  constexpr std::int64_t block_size = on_device<Exec> ? 4 : 512;
  const std::int64_t n = unique.positions();
  Kokkos::parallel_scan(
      "shardmark::unique_segments", static_range(exec, Kokkos::max((n + block_size - 1) / block_size, std::int64_t{1})),
      KOKKOS_LAMBDA(const std::int64_t block, std::int64_t& rows, const bool final) {
        const std::uint64_t* words = unique.words.data();
        const int position_bits = unique.position_bits;
        const std::int64_t begin = block * block_size, end = Kokkos::min(n, begin + block_size);
        const auto differs = [&](std::int64_t i) { return (words[i - 1] ^ words[i]) >> position_bits != 0 ? 1 : 0; };
        if (!final) {
          rows += begin == 0 && n > 0 ? 1 : 0;
          for (std::int64_t i = Kokkos::max(begin, std::int64_t{1}); i < end; ++i) rows += differs(i);
          return;
        }
        std::int64_t begins[block_size + 1];
        std::int64_t count = 0;
        for (std::int64_t i = begin; i < end; ++i) {
          begins[count] = i;
          count += i == 0 ? 1 : differs(i);
        }
        for (std::int64_t k = 0; k < count; ++k) unique.segments(rows + k) = begins[k];
        rows += count;
        if (end != n) return;
        unique.segments(rows) = n;
        unique.total(0) = rows;
      });
}
#ifdef KOKKOS_ENABLE_CUDA
template <class Exec>
requires std::is_same_v<Exec, Kokkos::Cuda>
void find_segments(const Exec& exec, const UniqueRows<Exec>& unique, UniqueRowsWorkspace<Exec>& workspace) {
  device::select_segments(exec, unique, workspace.histograms);
}
#endif

template <class Exec>
void mark_distinct(const Exec& exec, const UniqueRows<Exec>& unique, UniqueRowsWorkspace<Exec>& workspace) {
  find_segments(exec, unique, workspace);
}

template <class Exec>
UniqueRows<Exec> unique_rows(const Exec& exec, ConstArray<Exec, std::int64_t> keys, std::int64_t key_bound,
                             ConstArray<Exec, std::int64_t> positions, std::int64_t position_bound,
                             UniqueRowsWorkspace<Exec>& workspace) {
  const auto n = static_cast<std::int64_t>(keys.extent(0));
  const RadixPlan plan(n, position_bound, key_bound);
  const Array<Exec, std::uint64_t> words =
      sorted_words(exec, KeyWords<Exec>{keys, positions, plan.position_bits}, plan, workspace);
  const UniqueRows<Exec> unique{words, workspace.segments.first(n + 1), workspace.total.first(1), plan.position_bits};
  mark_distinct(exec, unique, workspace);
  return unique;
}

/// Says in which shard word i is.
template <class Exec>
struct ShardDigit {
  ConstArray<Exec, std::int32_t> of;

  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t i, std::uint64_t) const { return of(i); }
};

/// Returns the distinct rows of n keys: their words are brought together by shard, and one thread sorts those of a
/// shard.
template <class Exec>
UniqueRows<Exec> unique_rows_by_shard(const Exec& exec, ConstArray<Exec, std::int64_t> keys,
                                      const KeyShards<Exec>& shards, std::int64_t key_bound,
                                      UniqueRowsWorkspace<Exec>& workspace) {
  const auto n = static_cast<std::int64_t>(keys.extent(0));
  const int position_bits = RadixPlan(n, n, key_bound).position_bits;
  const Array<Exec, std::uint64_t> words = workspace.words.first(n), other = workspace.sorted.first(n);
  const Array<Exec, std::uint32_t> ends =
      radix_pass(exec, n, shards.count(), ShardDigit<Exec>{shards.of}, KeyWords<Exec>{keys, {}, position_bits}, other,
                 workspace.histograms);
  Kokkos::parallel_for(
      "shardmark::sort_shard_keys", dynamic_range(exec, shards.count()), KOKKOS_LAMBDA(const std::int64_t s) {
        const std::int64_t begin = s == 0 ? 0 : ends(s - 1), size = ends(s) - begin;
        const std::int64_t first_key = shards.first_keys(s), rows = shards.first_keys(s + 1) - first_key;
        const std::uint64_t* placed = other.data() + begin;
        const auto fill = [&](std::uint64_t* unsorted) {
          for (std::int64_t i = 0; unsorted != placed && i < size; ++i) unsorted[i] = placed[i];
        };
        ShardWords{{.first_key = first_key, .rows = rows}, size, position_bits}.sort(rows, fill, words.data() + begin,
                                                                                     other.data() + begin);
      });
  const UniqueRows<Exec> unique{words, workspace.segments.first(n + 1), workspace.total.first(1), position_bits};
  mark_distinct(exec, unique, workspace);
  return unique;
}

template <class Exec>
UniqueRows<Exec> unique_rows(const Exec& exec, ConstArray<Exec, std::int64_t> keys, const KeyShards<Exec>& shards,
                             std::int64_t key_bound, UniqueRowsWorkspace<Exec>& workspace) {
  if constexpr (!on_device<Exec>) {
    const std::int64_t known = static_cast<std::int64_t>(shards.of.extent(0)), threads = exec.concurrency();
    if (shards.count() >= 4 * threads && 64 * shards.count() <= known)
      return unique_rows_by_shard<Exec>(exec, keys, shards, key_bound, workspace);
  }
  return unique_rows<Exec>(exec, keys, key_bound, workspace);
}

SHARDMARK_INSTANCE(host_count<DefaultSpace>)
SHARDMARK_INSTANCE(invert_unique_rows<DefaultSpace>)
SHARDMARK_INSTANCE(mark_distinct<DefaultSpace>)
template UniqueRows<DefaultSpace> unique_rows(const DefaultSpace&, ConstArray<DefaultSpace, std::int64_t>, std::int64_t,
                                              ConstArray<DefaultSpace, std::int64_t>, std::int64_t,
                                              UniqueRowsWorkspace<DefaultSpace>&);
template UniqueRows<DefaultSpace> unique_rows(const DefaultSpace&, ConstArray<DefaultSpace, std::int64_t>,
                                              const KeyShards<DefaultSpace>&, std::int64_t,
                                              UniqueRowsWorkspace<DefaultSpace>&);

}  // namespace shardmark::kernels
