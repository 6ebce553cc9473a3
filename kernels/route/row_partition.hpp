// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>

#include "kernels/array.hpp"
#include "kernels/sort/balanced_ranges.hpp"
#include "reference/dynamic/key_buckets.hpp"

namespace shardmark::kernels {

/// Describes the rows begin, begin + stride, .. < end of a table, which the shard behind `slot` holds. Row r has local
/// row (r - begin) / stride.
struct OwnedRows {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t stride = 1;
  std::int64_t slot = 0;
};

/// Describes the rows first_row .. next block's first_row, which are assigned to owners by (row - first_row) mod
/// modulus.
struct RowBlock {
  std::int64_t first_row = 0;
  std::int64_t modulus = 1;
  std::int64_t first_owner = 0;  ///< owners[first_owner + residue]
  double inverse = 1;            ///< 1 / modulus, rounded

  struct Place {
    std::int64_t quotient, residue;
  };
  /// Divides row - first_row by modulus, for fewer than 2^51 rows: the product is off by less than one, and a division
  /// of integers would take 40 cycles and more.
  KOKKOS_FORCEINLINE_FUNCTION Place place(std::int64_t row) const {
    const std::int64_t within = row - first_row;
    const auto quotient = static_cast<std::int64_t>(static_cast<double>(within) * inverse);
    const std::int64_t residue = within - quotient * modulus;
    if (residue < 0) return {quotient - 1, residue + modulus};
    if (residue >= modulus) return {quotient + 1, residue - modulus};
    return {quotient, residue};
  }
};

/// Describes the owner of those rows of a block that have one residue: local row = first_local + quotient *
/// locals_per_period.
struct RowOwner {
  std::int64_t slot = -1;
  std::int64_t member = 0;  ///< which of the strip's slots it is
  std::int64_t first_local = 0;
  std::int64_t locals_per_period = 1;
};

/// Names the owner of the keys of a bucket, in 32 bits each: those of a table fit the nearest cache.
struct BucketOwner {
  std::int32_t slot = -1;
  std::int32_t member = 0;
};

/// A strip is every row of one column range of a feature's table: each id of the feature goes to exactly one slot of
/// the strip. A table split by columns gives its features one strip per column range.
struct Strip {
  std::int64_t feature = 0;
  std::int64_t first_block = 0;
  std::int64_t blocks = 0;
  std::int64_t first_member = 0;  ///< members[first_member .. + members): its slots that hold rows
  std::int64_t members = 0;
  /// This is, where rows are found by the bucket of their key and not by their number, the owner of bucket 0 among
  /// RowPartition::buckets, whose local rows are keys; else -1.
  std::int64_t first_bucket = -1;
  KeyBuckets mix = {};
};

/// Maps each id to the slot that gets it; built on the host. A single owner is one block of modulus 1, a block split
/// one block of modulus 1 per shard, a modulo split one block, and any exact cover by arithmetic progressions a
/// sequence of such blocks.
class RowPartition {
 public:
  /// Adds the strip of `feature`. Throws InputError unless `shards` hold every row of [0, rows) exactly once.
  void add_strip(std::int64_t feature, std::int64_t rows, std::span<const OwnedRows> shards);
  /// Adds one whose shards have the buckets that their rows stand for (row_of_bucket).
  void add_strip_of_buckets(std::int64_t feature, std::int64_t rows, std::span<const OwnedRows> shards,
                            const KeyBuckets& mix);

  const std::vector<Strip>& strips() const { return strips_; }
  const std::vector<RowBlock>& blocks() const { return blocks_; }
  const std::vector<RowOwner>& owners() const { return owners_; }
  const std::vector<BucketOwner>& buckets() const { return buckets_; }
  const std::vector<std::int64_t>& members() const { return members_; }

  /// Returns by strip the slot that holds all of its rows, in their order; empty unless there is one for each strip.
  std::vector<std::int64_t> only_slots() const;

 private:
  std::int64_t add_block(std::int64_t feature, std::span<const OwnedRows> group, std::int64_t member);

  std::vector<Strip> strips_;
  std::vector<RowBlock> blocks_;
  std::vector<RowOwner> owners_;
  std::vector<BucketOwner> buckets_;   ///< [key_buckets] of each strip that has some
  std::vector<std::int64_t> members_;  ///< slots, strip by strip
};

struct OwnedRow {
  std::int64_t slot;
  std::int64_t member;
  std::int64_t local_row;
};

/// Finds the owners of the rows of one strip; it copies what every id needs, so that this stays in registers.
struct StripOwners {
  RowBlock first_block;
  std::int64_t block_count;
  const RowBlock* blocks;
  const RowOwner* owners;
  const BucketOwner* buckets = nullptr;  ///< [key_buckets], where rows are found by these
  KeyBuckets mix = {};

  /// Returns whether one slot holds all rows, in their order.
  KOKKOS_FORCEINLINE_FUNCTION bool one_owner() const { return block_count == 1 && first_block.modulus == 1; }

  /// Returns the slot that holds all rows, and as local_row what its local rows have been shifted by.
  KOKKOS_FORCEINLINE_FUNCTION OwnedRow only_owner() const {
    const OwnedRow first = find(first_block.first_row);
    return {first.slot, first.member, first.local_row - first_block.first_row};
  }

  /// Returns slot, member and local row of a row of the strip.
  KOKKOS_FORCEINLINE_FUNCTION OwnedRow find(std::int64_t row) const {
    if (buckets != nullptr) {
      const BucketOwner& owner = buckets[mix.bucket(row)];
      return {owner.slot, owner.member, row};
    }
    return by_number(row);
  }

  /// Returns those of the row of this number in a plan.
  KOKKOS_FORCEINLINE_FUNCTION OwnedRow by_number(std::int64_t row) const {
    if (block_count == 1) return find(first_block, row);
    // Hot rows and the others: which of them an id is nobody can foretell, and a branch would be taken wrongly.
    KOKKOS_IF_ON_HOST((if (block_count == 2) return find(blocks[row >= blocks[1].first_row ? 1 : 0], row);))
    return find(blocks[last_at_most(block_count, row, [&](std::int64_t b) { return blocks[b].first_row; })], row);
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION OwnedRow find(const RowBlock& block, std::int64_t row) const {
    const auto [quotient, residue] = block.place(row);
    const RowOwner& owner = owners[block.first_owner + residue];
    return {owner.slot, owner.member, owner.first_local + quotient * owner.locals_per_period};
  }
};

/// Returns the owners of the rows of a strip; `blocks`, `owners` and `buckets`: those of its partition.
KOKKOS_FORCEINLINE_FUNCTION StripOwners owners_of(const Strip& strip, const RowBlock* blocks, const RowOwner* owners,
                                                  const BucketOwner* buckets) {
  const RowBlock* first = blocks + strip.first_block;
  const BucketOwner* own = strip.first_bucket < 0 ? nullptr : buckets + strip.first_bucket;
  return {strip.blocks > 0 ? *first : RowBlock{}, strip.blocks, first, owners, own, strip.mix};
}

/// Holds a RowPartition in memory that kernels can read.
template <class Exec>
struct RowOwners {
  ConstArray<Exec, Strip> strips;
  ConstArray<Exec, RowBlock> blocks;
  ConstArray<Exec, RowOwner> owners;
  ConstArray<Exec, BucketOwner> buckets;
  ConstArray<Exec, std::int64_t> members;
  std::int64_t most_members = 0;  ///< of a strip

  KOKKOS_FORCEINLINE_FUNCTION StripOwners of(const Strip& strip) const {
    return owners_of(strip, blocks.data(), owners.data(), buckets.data());
  }
};

template <class Exec>
RowOwners<Exec> row_owners(const Exec& exec, const RowPartition& partition) {
  std::int64_t most_members = 0;
  for (const Strip& strip : partition.strips()) most_members = std::max(most_members, strip.members);
  return {array_of(exec, partition.strips(), "shardmark::strips"),
          array_of(exec, partition.blocks(), "shardmark::row_blocks"),
          array_of(exec, partition.owners(), "shardmark::row_owners"),
          array_of(exec, partition.buckets(), "shardmark::bucket_owners"),
          array_of(exec, partition.members(), "shardmark::strip_members"),
          most_members};
}

}  // namespace shardmark::kernels
