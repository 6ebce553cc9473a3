// SPDX-License-Identifier: Apache-2.0
#include "kernels/dynamic/key_numbers.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/sort/balanced_ranges.hpp"
#include "kernels/sort/shard_words.hpp"
#include "reference/counter_random.hpp"

namespace shardmark::kernels {

constexpr std::uint32_t empty_cell = ~std::uint32_t{0};

/// Finds keys in a table of cells, each empty or with the first position of its key: open addressing in which no cell
/// becomes empty again, so that all positions of a key find one cell, whoever takes it first.
template <class Exec>
struct KeyCells {
  Array<Exec, std::uint32_t> cells;  ///< a power of two
  ConstArray<Exec, std::int32_t> tags;
  ConstArray<Exec, std::int64_t> keys;

  KOKKOS_FORCEINLINE_FUNCTION std::uint64_t first_cell(std::int64_t k) const {
    return next_random_bits(static_cast<std::uint64_t>(tags(k)) << 32, static_cast<std::uint64_t>(keys(k))) &
           (cells.extent(0) - 1);
  }

  /// Returns the cell of the key of position k, which is now there.
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t take(std::int64_t k, std::uint64_t cell) const {
    const auto position = static_cast<std::uint32_t>(k);
    const std::int64_t key = keys(k);
    const std::int32_t tag = tags(k);
    for (;; cell = (cell + 1) & (cells.extent(0) - 1)) {
      std::uint32_t* const at = &cells(cell);
      std::uint32_t there = Kokkos::atomic_load(at);
      if (there == empty_cell) there = Kokkos::atomic_compare_exchange(at, empty_cell, position);
      if (there == empty_cell) break;
      if (keys(there) != key || tags(there) != tag) continue;
      if (position < there) Kokkos::atomic_min(at, position);
      break;
    }
    return static_cast<std::uint32_t>(cell);
  }
};

template <class Exec>
void take_cells(const Exec& exec, const KeyCells<Exec>& table, const Array<Exec, std::uint32_t>& cell_of) {
  constexpr std::int64_t at_once = in_host_memory<Exec> ? 16 : 1;  // cells on their way
  const auto n = static_cast<std::int64_t>(table.keys.extent(0));
  Kokkos::parallel_for(
      "shardmark::take_key_cells", static_range(exec, (n + at_once - 1) / at_once),
      KOKKOS_LAMBDA(const std::int64_t block) {
        const std::int64_t begin = block * at_once, end = Kokkos::min(n, begin + at_once);
        std::uint64_t cells[at_once];
        for (std::int64_t k = begin; k < end; ++k) {
          cells[k - begin] = table.first_cell(k);
          prefetch_to_write(table.cells.data() + cells[k - begin]);
        }
        for (std::int64_t k = begin; k < end; ++k)
          if (table.tags(k) >= 0) cell_of(k) = table.take(k, cells[k - begin]);
      });
}

/// Gives the keys numbers in the order of their first positions. Returns how many they are.
template <class Exec>
std::int64_t number_cells(const Exec& exec, const KeyCells<Exec>& table, const Array<Exec, std::uint32_t>& cell_of,
                          const Array<Exec, std::int64_t>& numbers, const Array<Exec, std::int64_t>& distinct) {
  const auto n = static_cast<std::int64_t>(table.keys.extent(0));
  std::int64_t count = 0;
  Kokkos::parallel_scan(
      "shardmark::number_keys", static_range(exec, n),
      KOKKOS_LAMBDA(const std::int64_t k, std::int64_t& before, const bool final) {
        const bool first = table.tags(k) >= 0 && table.cells(cell_of(k)) == static_cast<std::uint32_t>(k);
        if (final) {
          numbers(k) = before;  // of later positions: keys before them
          if (first) distinct(before) = table.keys(k);
        }
        before += first ? 1 : 0;
      },
      count);
  return count;
}

template <class Exec>
void copy_numbers(const Exec& exec, const KeyCells<Exec>& table, const Array<Exec, std::uint32_t>& cell_of,
                  const Array<Exec, std::int64_t>& numbers) {
  Kokkos::parallel_for(
      "shardmark::copy_key_numbers", static_range(exec, static_cast<std::int64_t>(table.keys.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t k) {
        if (table.tags(k) < 0) return;
        const std::uint32_t first = table.cells(cell_of(k));
        if (first != static_cast<std::uint32_t>(k)) numbers(k) = numbers(first);
      });
}

template <class Exec>
std::int64_t number_by_cells(const Exec& exec, const KeyCells<Exec>& table, const Array<Exec, std::uint32_t>& cell_of,
                             const Array<Exec, std::int64_t>& numbers, const Array<Exec, std::int64_t>& distinct) {
  take_cells(exec, table, cell_of);
  const std::int64_t count = number_cells(exec, table, cell_of, numbers, distinct);
  exec.fence("shardmark: the host reads how many distinct keys there are");
  copy_numbers(exec, table, cell_of, numbers);
  return count;
}

/// Numbers the keys in one pass, by one thread of a host: cells are empty or have numbers. tags_of: [n] by number.
template <class Exec>
std::int64_t number_at_once(const KeyCells<Exec>& table, const Array<Exec, std::int64_t>& numbers,
                            const Array<Exec, std::int64_t>& distinct, const Array<Exec, std::int32_t>& tags_of) {
  constexpr std::int64_t at_once = 16;  // cells on their way
  const auto n = static_cast<std::int64_t>(table.keys.extent(0));
  const std::uint64_t mask = table.cells.extent(0) - 1;
  std::uint32_t count = 0;
  for (std::int64_t begin = 0; begin < n; begin += at_once) {
    const std::int64_t end = Kokkos::min(n, begin + at_once);
    std::uint64_t cells[at_once];
    for (std::int64_t k = begin; k < end; ++k) {
      cells[k - begin] = table.first_cell(k);
      prefetch_to_write(table.cells.data() + cells[k - begin]);
    }
    for (std::int64_t k = begin; k < end; ++k)
      if (const std::uint32_t number = table.cells(cells[k - begin]); number != empty_cell)
        prefetch(distinct.data() + number, sizeof(std::int64_t));
    for (std::int64_t k = begin; k < end; ++k) {
      numbers(k) = count;
      const std::int32_t tag = table.tags(k);
      if (tag < 0) continue;
      const std::int64_t key = table.keys(k);
      for (std::uint64_t cell = cells[k - begin];; cell = (cell + 1) & mask) {
        std::uint32_t& there = table.cells(cell);
        if (there == empty_cell) {
          distinct(count) = key;
          tags_of(count) = tag;
          there = count++;
          break;
        }
        if (distinct(there) != key || tags_of(there) != tag) continue;
        numbers(k) = there;
        break;
      }
    }
  }
  return count;
}

template <class Exec>
std::int64_t KeyNumbers<Exec>::find(const Exec& exec, ConstArray<Exec, std::int32_t> tags,
                                    ConstArray<Exec, std::int64_t> keys) {
  const auto n = static_cast<std::int64_t>(keys.extent(0));
  std::int64_t size = 64;
  while (size < 2 * n) size *= 2;
  const KeyCells<Exec> table{cells_.first(size), tags, keys};
  const auto numbers = numbers_.first(n), distinct = distinct_.first(n);
  Kokkos::deep_copy(exec, table.cells, empty_cell);
  const auto number = [&] {
    if constexpr (in_host_memory<Exec>)
      if (exec.concurrency() == 1) return number_at_once(table, numbers, distinct, tags_of_distinct_.first(n));
    return number_by_cells(exec, table, cell_of_.first(n), numbers, distinct);
  };
  const std::int64_t count = number();
  numbers_of_ = numbers;
  distinct_of_ = Kokkos::subview(distinct, std::pair(std::int64_t{0}, count));
  return count;
}

/// Lists the ids of the shards in their order. firsts: [shards + 1] of the shards, then [blocks + 1] of the blocks.
template <class Exec>
struct IdsByShard {
  ConstArray<Exec, ShardBlocks> shards;
  ConstArray<Exec, GradientBlock> blocks;
  ConstArray<Exec, std::int64_t> offsets, ids;
  Array<Exec, std::int64_t> of_shards, of_blocks;
  Array<Exec, std::int32_t> tags;
  Array<Exec, std::int64_t> keys, at;

  struct CountBlocks {};
  struct List {};

  KOKKOS_FUNCTION void operator()(CountBlocks, const std::int64_t b, std::int64_t& sum, const bool final) const {
    if (final) of_blocks(b) = sum;
    if (b < static_cast<std::int64_t>(blocks.extent(0)))
      sum += offsets(blocks(b).first_bag + blocks(b).bags) - offsets(blocks(b).first_bag);
  }
  KOKKOS_FUNCTION void operator()(List, const std::int64_t range) const {
    constexpr std::int64_t grain = in_host_memory<Exec> ? 2048 : 1;
    const auto n = static_cast<std::int64_t>(keys.extent(0)), block_count = static_cast<std::int64_t>(blocks.extent(0));
    const std::int64_t end = Kokkos::min(n, (range + 1) * grain);
    std::int64_t k = range * grain;
    std::int64_t b = last_at_most(block_count, k, of_blocks);
    for (; k < end; ++b) {
      const std::int64_t s = last_at_most(static_cast<std::int64_t>(shards.extent(0)), b,
                                          [&](std::int64_t i) { return shards(i).first_block; });
      const auto tag = static_cast<std::int32_t>(shards(s).keys != 0 ? s : -1);
      const std::int64_t stop = Kokkos::min(end, of_blocks(b + 1)), shift = offsets(blocks(b).first_bag) - of_blocks(b);
      for (; k < stop; ++k) {
        tags(k) = tag;
        at(k) = k + shift;
        keys(k) = ids(k + shift);
      }
    }
  }
};

template <class Exec>
void KeyNumbers<Exec>::find_in_shards(const Exec& exec, ConstArray<Exec, ShardBlocks> shards,
                                      ConstArray<Exec, GradientBlock> blocks, ConstArray<Exec, std::int64_t> offsets,
                                      ConstArray<Exec, std::int64_t> ids, std::int64_t count,
                                      std::vector<std::int64_t>& begins) {
  constexpr std::int64_t grain = in_host_memory<Exec> ? 2048 : 1;
  const auto shard_count = static_cast<std::int64_t>(shards.extent(0)),
             block_count = static_cast<std::int64_t>(blocks.extent(0));
  const auto firsts = firsts_.first(2 * (shard_count + 1) + block_count + 1);
  const auto some = [&](std::int64_t begin, std::int64_t end) {
    return Kokkos::subview(firsts, std::pair(begin, end));
  };
  const auto of_shards = some(0, shard_count + 1), begin_of = some(shard_count + 1, 2 * (shard_count + 1));
  const IdsByShard<Exec> listed{shards,
                                blocks,
                                offsets,
                                ids,
                                of_shards,
                                some(2 * (shard_count + 1), 2 * (shard_count + 1) + block_count + 1),
                                tags_.first(count),
                                keys_.first(count),
                                at_.first(count)};
  count_shard_ids(exec, shards, blocks, offsets, of_shards);
  Kokkos::parallel_scan("shardmark::count_block_ids",
                        static_range<typename IdsByShard<Exec>::CountBlocks>(exec, block_count + 1), listed);
  if (block_count > 0)
    Kokkos::parallel_for("shardmark::list_ids_by_shard",
                         static_range<typename IdsByShard<Exec>::List>(exec, (count + grain - 1) / grain), listed);
  tags_of_ = listed.tags;
  at_of_ = listed.at;
  const std::int64_t distinct = find(exec, listed.tags, listed.keys);
  const ConstArray<Exec, std::int64_t> numbers = numbers_of_;
  const ConstArray<Exec, std::int32_t> tags = tags_of_;
  // A shard begins with the number of its first position, whose key is new there; one without keys has no numbers.
  Kokkos::parallel_for(
      "shardmark::first_numbers", static_range(exec, shard_count + 1), KOKKOS_LAMBDA(const std::int64_t s) {
        const std::int64_t k = of_shards(s);
        begin_of(s) = s == shard_count || k == count ? distinct : numbers(k);
      });
  begins.resize(static_cast<std::size_t>(shard_count) + 1);
  copy_array(exec, host_array(begins), begin_of);
  exec.fence("shardmark: the host reads how many distinct keys each shard has");
}

template <class Exec>
void KeyNumbers<Exec>::place(const Exec& exec, ConstArray<Exec, std::int64_t> places,
                             Array<Exec, std::int64_t> ids) const {
  const auto tags = tags_of_;
  const auto at = at_of_, numbers = numbers_of_;
  Kokkos::parallel_for(
      "shardmark::place_numbered_keys", static_range(exec, static_cast<std::int64_t>(at.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t k) {
        if (tags(k) >= 0) ids(at(k)) = places(numbers(k));
      });
}

template class KeyNumbers<DefaultSpace>;

}  // namespace shardmark::kernels
