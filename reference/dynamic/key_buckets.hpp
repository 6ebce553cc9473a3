// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/counter_random.hpp"

namespace shardmark::reference {

/// This is the number of logical buckets of a dynamic table. Counts of its filter, capacity and victims belong to a
/// bucket, and a plan maps buckets to ranks: whoever holds a bucket decides alike.
inline constexpr std::int64_t key_buckets = 4096;

/// Maps the keys of one table, any of the 2^64 integers, to its buckets. The bits of a key are a bijection of the key,
/// so that keys differ in them, and well mixed, so that keys of a stride, or with equal low bits, share a bucket only
/// by chance.
struct KeyBuckets {
  std::uint64_t seed = 0;  ///< of the table: KeyBuckets::of_table

  /// Returns those of a table, by its number. They are the same whatever the seed of a run is: plans place them.
  static constexpr KeyBuckets of_table(std::int64_t table) { return {random_bits(0x6b65797320696e20, table)}; }

  constexpr std::uint64_t bits(std::int64_t key) const {
    return next_random_bits(seed, static_cast<std::uint64_t>(key));
  }
  /// Returns the bucket: the upper 12 bits.
  static constexpr std::int64_t bucket_of_bits(std::uint64_t bits) { return static_cast<std::int64_t>(bits >> 52); }
  constexpr std::int64_t bucket(std::int64_t key) const { return bucket_of_bits(bits(key)); }
};

/// A key table (kernels/dynamic/) lies in lines of so many bytes, each of which holds so many keys with their slots. A
/// bucket doubles where its lines have more than most_keys_of_line on average: 1 key in 12 then lies behind its first
/// line.
inline constexpr std::int64_t key_line_bytes = 64, keys_of_line = 5, most_keys_of_line = 4;
/// Returns the bytes of a table of so many keys: its buckets have between half and all of these, each at a size of its
/// own, and together the mean at any size.
constexpr double key_table_bytes(double keys) {
  constexpr double mean = 0.72;  // 1 / (2 ln 2)
  return static_cast<double>(key_line_bytes) * keys / (mean * static_cast<double>(most_keys_of_line));
}

/// Returns the key, anywhere among the 2^64 integers, of id number `id` of a table: a bijection. It does not depend on
/// the seed of a run, so that a plan knows where hot keys are.
constexpr std::int64_t scattered_key(std::int64_t table, std::int64_t id) {
  return static_cast<std::int64_t>(
      next_random_bits(random_bits(0x6b65797320647277, table), static_cast<std::uint64_t>(id)));
}

/// Returns the row, of a table of so many, that stands for a bucket in a plan: whoever has this row there has all keys
/// of the bucket, whatever the plan is. One row is drawn from each of 4,096 equal ranges, so that blocks of rows and
/// every n-th row alike get their share of the buckets.
constexpr std::int64_t row_of_bucket(std::int64_t bucket, std::int64_t rows) {
  const std::uint64_t drawn =
      next_random_bits(static_cast<std::uint64_t>(key_buckets), static_cast<std::uint64_t>(bucket));
  const std::uint64_t place = static_cast<std::uint64_t>(bucket) << 20 | drawn >> 44;  // of 2^32
  const auto all = static_cast<std::uint64_t>(rows);
  return static_cast<std::int64_t>(place * (all >> 32) + (place * (all & 0xffffffff) >> 32));
}

/// Returns the most rows that a bucket keeps, of a table of at most `capacity`: all buckets together have just that.
constexpr std::int64_t bucket_capacity(std::int64_t capacity, std::int64_t bucket) {
  return capacity / key_buckets + (bucket < capacity % key_buckets);
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::KeyBuckets, reference::bucket_capacity, reference::key_buckets, reference::key_line_bytes,
    reference::key_table_bytes, reference::keys_of_line, reference::most_keys_of_line, reference::row_of_bucket,
    reference::scattered_key;
}  // namespace shardmark
