// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "reference/value_type.hpp"

// These functions return what an operation must move and compute, from counts alone: by these formulas a kernel's
// measured time becomes a rate, and a plan's cost can be predicted before anything runs. Ids and offsets of bags have 8
// bytes unless a parameter says otherwise, weights and values 4. NAME_work belongs to the kernel NAME.

namespace shardmark::reference {

/// Counts what a kernel must move and compute at least: a row that is used many times is read once, caches being
/// perfect. Rates are this divided by the time, so that no rate can exceed the machine's by reuse alone.
struct Work {
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  std::int64_t flops = 0;

  constexpr std::int64_t bytes() const { return bytes_read + bytes_written; }
  bool operator==(const Work&) const = default;
};

constexpr Work operator+(const Work& a, const Work& b) {
  return {a.bytes_read + b.bytes_read, a.bytes_written + b.bytes_written, a.flops + b.flops};
}

/// Counts what a batch requires of the lookup (and of the update that follows it).
struct LookupCounts {
  std::int64_t bags = 0;
  std::int64_t ids = 0;
  std::int64_t id_elements = 0;   ///< sum over ids of the dim of their row
  std::int64_t unique_bytes = 0;  ///< sum over distinct rows of their row_bytes
  std::int64_t output_elements = 0;
};

constexpr Work pooled_lookup_work(const LookupCounts& counts, bool weighted, std::int64_t index_bytes) {
  return {.bytes_read = counts.unique_bytes + counts.ids * (index_bytes + (weighted ? 4 : 0)) + (counts.bags + 1) * 8,
          .bytes_written = counts.output_elements * 4,
          .flops = counts.id_elements * (weighted ? 2 : 1)};
}

/// Reads the rows and pooled vectors again and the gradients, and writes a vector per id.
constexpr Work max_gradients_work(const LookupCounts& counts, bool weighted, std::int64_t index_bytes) {
  const Work lookup = pooled_lookup_work(counts, weighted, index_bytes);
  return {.bytes_read = lookup.bytes_read + 2 * lookup.bytes_written,
          .bytes_written = counts.id_elements * 4,
          .flops = 2 * counts.id_elements + counts.output_elements};
}

/// Reads the rows again and the gradients, and writes a number per id.
constexpr Work weight_gradients_work(const LookupCounts& counts, bool weighted, std::int64_t index_bytes) {
  const Work lookup = pooled_lookup_work(counts, weighted, index_bytes);
  return {.bytes_read = lookup.bytes_read + lookup.bytes_written,
          .bytes_written = counts.ids * 4,
          .flops = 2 * counts.id_elements};
}

/// Counts what an update must touch: sums over the distinct rows and over the positions of a step.
struct UpdateCounts {
  std::int64_t positions = 0;
  std::int64_t position_elements = 0;  ///< sum over positions of the dim of their row
  std::int64_t unique = 0;
  std::int64_t unique_elements = 0;    ///< sum over distinct rows of their dim
  std::int64_t row_bytes = 0;          ///< sum over distinct rows of their row_bytes
  std::int64_t state_elements = 0;     ///< sum over distinct rows of state_per_row
  std::int64_t gradient_elements = 0;  ///< elements of the gradient vectors, each counted once
};

constexpr Work fused_update_work(const UpdateCounts& counts, bool weighted) {
  const std::int64_t row_bytes = counts.row_bytes + counts.state_elements * 4;
  return {
      .bytes_read = row_bytes + counts.gradient_elements * 4 + counts.positions * (16 + (weighted ? 4 : 0)) +
                    (2 * counts.unique + 1) * 8,
      .bytes_written = row_bytes,
      .flops = counts.position_elements * (weighted ? 2 : 1) + counts.unique_elements * 2 + counts.state_elements * 4};
}

/// Reads what fused_update reads, writes the sums.
constexpr Work row_sums_work(const UpdateCounts& counts, bool weighted, std::int64_t per_row) {
  const Work update = fused_update_work(counts, weighted);
  return {.bytes_read = update.bytes_read, .bytes_written = counts.unique * per_row * 8, .flops = update.flops};
}

/// Reads and writes every distinct row once, reads every gradient once; reads keys, places and weights by position.
constexpr Work scatter_sgd_work(const UpdateCounts& counts, bool weighted) {
  return {.bytes_read = counts.row_bytes + counts.gradient_elements * 4 + counts.positions * (16 + (weighted ? 4 : 0)),
          .bytes_written = counts.row_bytes,
          .flops = counts.position_elements * 2};
}

constexpr Work pack_row_gradients_work(std::int64_t positions, std::int64_t position_elements, std::int64_t unique,
                                       std::int64_t gradient_elements, bool weighted) {
  return {.bytes_read = position_elements * 4 + positions * (16 + (weighted ? 4 : 0)) + (2 * unique + 1) * 8,
          .bytes_written = gradient_elements * 4,
          .flops = position_elements * (weighted ? 2 : 1)};
}

constexpr Work reduce_to_dense_work(std::int64_t positions, std::int64_t position_elements, std::int64_t unique,
                                    std::int64_t gradient_elements, std::int64_t dense_elements, std::int64_t keys,
                                    bool weighted) {
  return {.bytes_read = gradient_elements * 4 + positions * (16 + (weighted ? 4 : 0)) + (2 * unique + 1) * 8,
          .bytes_written = (dense_elements + keys) * 4,
          .flops = position_elements * (weighted ? 2 : 1)};
}

constexpr Work touched_rows_work(std::int64_t keys, std::int64_t touched) {
  return {.bytes_read = keys * 4, .bytes_written = touched * 8, .flops = 0};
}

/// Returns the number of bits that distinguish the numbers in [0, bound).
constexpr int bits_below(std::int64_t bound) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(bound, 1) - 1)));
}

/// Returns the number of passes of a radix sort of keys in [0, key_bound) by digits of up to 13 bits.
constexpr int radix_passes(std::int64_t key_bound) {
  constexpr int largest_digit_bits = 13;
  return (std::max(1, bits_below(key_bound)) + largest_digit_bits - 1) / largest_digit_bits;
}

/// Returns the number of bits of a digit of that sort: all are equally wide.
constexpr int radix_digit_bits(std::int64_t key_bound) {
  const int passes = radix_passes(key_bound);
  return (std::max(1, bits_below(key_bound)) + passes - 1) / passes;
}

/// Returns the number of elements that the sums of a shard take, rows * dim, if its rows are so few, and its bags so
/// many, that its gradients are added to sums that stay in the second-level cache together with as many elements of
/// pieces; else 0.
constexpr std::int64_t few_row_sums(std::int64_t rows, std::int64_t dim, std::int64_t bags) {
  constexpr std::int64_t cached_floats = std::int64_t{1} << 16;
  return rows * dim <= cached_floats && 2 * rows <= bags ? rows * dim : 0;
}

/// Returns the work for n keys: each pass reads the words twice and writes them once.
constexpr Work unique_rows_work(std::int64_t n, std::int64_t key_bound, std::int64_t unique) {
  const std::int64_t passes = radix_passes(key_bound);
  return {.bytes_read = passes * n * 16 + n * 8, .bytes_written = passes * n * 8 + unique * 8, .flops = 0};
}

constexpr Work expand_positions_work(std::int64_t bags, std::int64_t ids, std::int64_t index_bytes) {
  return {.bytes_read = (bags + 1) * 8 + ids * index_bytes, .bytes_written = ids * 16, .flops = 0};
}

/// Returns the work for `bags` bags of mean or sqrtn with `elements` values of `value_bytes` and `weighted_ids` weights
/// (0 when there are none).
constexpr Work divide_by_bag_work(std::int64_t bags, std::int64_t elements, std::int64_t weighted_ids,
                                  std::int64_t value_bytes = 4) {
  return {.bytes_read = elements * value_bytes + (bags + 1) * 8 + weighted_ids * 4,
          .bytes_written = elements * value_bytes,
          .flops = elements + 2 * weighted_ids};
}

/// Reads offsets, ids and weights once, writes lengths (of `cells` pairs of slot and bag) and sorted ids. `strip_ids`:
/// ids counted once per strip.
constexpr Work bucketize_work(std::int64_t bags, std::int64_t ids, std::int64_t cells, std::int64_t strip_ids,
                              bool weighted, std::int64_t index_bytes = 8, std::int64_t length_bytes = 4) {
  const std::int64_t weight_bytes = weighted ? 4 : 0;
  return {.bytes_read = (bags + 1) * 8 + ids * (8 + weight_bytes),
          .bytes_written = cells * length_bytes + strip_ids * (index_bytes + weight_bytes),
          .flops = 0};
}

/// Reads a key and the cache line that holds it with its slot, and writes the slot.
constexpr Work find_keys_work(std::int64_t keys) {
  return {.bytes_read = keys * (8 + 64), .bytes_written = keys * 8, .flops = 0};
}

/// Reads offsets, ids and weights once.
constexpr Work check_bags_work(std::int64_t bags, std::int64_t ids, bool weighted, std::int64_t index_bytes) {
  return {.bytes_read = (bags + 1) * 8 + ids * (index_bytes + (weighted ? 4 : 0)), .bytes_written = 0, .flops = 0};
}

constexpr Work fill_rows_work(std::int64_t rows, ValueType type, std::int64_t dim) {
  return {.bytes_read = 0, .bytes_written = rows * row_bytes(type, dim), .flops = 0};
}
constexpr Work count_changed_rows_work(std::int64_t rows, ValueType type, std::int64_t dim) {
  return {.bytes_read = rows * row_bytes(type, dim), .bytes_written = 0, .flops = 0};
}

/// Reads or writes `home_elements`, the values of the vectors at home, and `packed_elements`, the values of all
/// partials of them.
constexpr Work sum_partials_work(std::int64_t home_elements, std::int64_t packed_elements) {
  return {
      .bytes_read = packed_elements * 4, .bytes_written = home_elements * 4, .flops = packed_elements - home_elements};
}
constexpr Work copy_to_partials_work(std::int64_t home_elements, std::int64_t packed_elements) {
  return {.bytes_read = home_elements * 4, .bytes_written = packed_elements * 4, .flops = 0};
}

constexpr Work encode_wire_work(ValueType type, std::int64_t rows, std::int64_t dim) {
  return {.bytes_read = rows * dim * 4, .bytes_written = rows * row_bytes(type, dim), .flops = 0};
}
constexpr Work decode_wire_work(ValueType type, std::int64_t rows, std::int64_t dim) {
  return {.bytes_read = rows * row_bytes(type, dim), .bytes_written = rows * dim * 4, .flops = 0};
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::LookupCounts, reference::UpdateCounts, reference::Work, reference::bits_below,
    reference::bucketize_work, reference::check_bags_work, reference::copy_to_partials_work,
    reference::decode_wire_work, reference::encode_wire_work, reference::expand_positions_work, reference::few_row_sums,
    reference::find_keys_work, reference::fused_update_work, reference::max_gradients_work,
    reference::pack_row_gradients_work, reference::pooled_lookup_work, reference::radix_digit_bits,
    reference::radix_passes, reference::reduce_to_dense_work, reference::row_sums_work, reference::sum_partials_work,
    reference::unique_rows_work, reference::weight_gradients_work;
}  // namespace shardmark
