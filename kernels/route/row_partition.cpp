// SPDX-License-Identifier: Apache-2.0
#include "kernels/route/row_partition.hpp"

#include <numeric>
#include <string>

#include "reference/error.hpp"

namespace shardmark::kernels {

namespace {

constexpr std::int64_t largest_modulus = std::int64_t{1} << 20;

std::int64_t count(const OwnedRows& s) { return (s.end - s.begin + s.stride - 1) / s.stride; }

[[noreturn]] void fail(std::int64_t feature, std::int64_t row) {
  throw InputError("row partition of feature " + std::to_string(feature) +
                   ": the shards do not hold every row exactly once; the first fault is at or after row " +
                   std::to_string(row));
}

/// Returns the shards that interleave with the first one: each begins within the period of those before it and has no
/// row in common with them.
std::span<const OwnedRows> leading_group(std::span<const OwnedRows> sorted) {
  std::int64_t period = sorted.front().stride;
  std::size_t size = 1;
  for (; size < sorted.size(); ++size) {
    const auto& next = sorted[size];
    const bool apart = std::none_of(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(size), [&](auto& s) {
      return (next.begin - s.begin) % std::gcd(next.stride, s.stride) == 0;
    });
    if (next.begin >= sorted.front().begin + period || !apart) break;
    period = std::lcm(period, next.stride);
  }
  return sorted.first(size);
}

}  // namespace

void RowPartition::add_strip(std::int64_t feature, std::int64_t rows, std::span<const OwnedRows> shards) {
  std::vector<OwnedRows> sorted;
  for (const auto& shard : shards)
    if (shard.begin < shard.end) sorted.push_back(shard);
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  Strip strip{feature, std::ssize(blocks_), 0, std::ssize(members_), std::ssize(sorted)};
  for (const auto& shard : sorted) members_.push_back(shard.slot);
  std::int64_t row = 0;
  for (std::span<const OwnedRows> rest = sorted; !rest.empty(); ++strip.blocks) {
    if (rest.front().begin != row) fail(feature, row);
    const auto group = leading_group(rest);
    row += add_block(feature, group, group.data() - sorted.data());
    rest = rest.subspan(group.size());
  }
  if (row != rows) fail(feature, row);
  strips_.push_back(strip);
}

void RowPartition::add_strip_of_buckets(std::int64_t feature, std::int64_t rows, std::span<const OwnedRows> shards,
                                        const KeyBuckets& mix) {
  add_strip(feature, rows, shards);
  Strip& strip = strips_.back();
  const StripOwners by_number = owners_of(strip, blocks_.data(), owners_.data(), nullptr);
  strip.first_bucket = std::ssize(buckets_);
  strip.mix = mix;
  for (std::int64_t bucket = 0; bucket < key_buckets; ++bucket) {
    const OwnedRow at = by_number.by_number(row_of_bucket(bucket, rows));
    buckets_.push_back({static_cast<std::int32_t>(at.slot), static_cast<std::int32_t>(at.member)});
  }
}

std::vector<std::int64_t> RowPartition::only_slots() const {
  std::vector<std::int64_t> slots;
  for (const Strip& strip : strips_) {
    if (strip.blocks != 1 || blocks_[strip.first_block].modulus != 1) return {};
    slots.push_back(members_[strip.first_member]);
  }
  return slots;
}

/// Adds one block for shards that interleave, members from `member` on; returns how many rows it has.
std::int64_t RowPartition::add_block(std::int64_t feature, std::span<const OwnedRows> group, std::int64_t member) {
  const std::int64_t first_row = group.front().begin;
  std::int64_t period = 1;
  std::int64_t rows = 0;
  for (const auto& shard : group) {
    period = std::lcm(period, shard.stride);
    rows += count(shard);
    if (period > largest_modulus) fail(feature, first_row);
  }
  const auto first_owner = std::ssize(owners_);
  owners_.resize(owners_.size() + static_cast<std::size_t>(period));
  for (const auto& shard : group) {
    if (shard.begin + count(shard) * shard.stride < first_row + rows) fail(feature, first_row);
    for (std::int64_t residue = shard.begin - first_row; residue < period; residue += shard.stride)
      owners_[first_owner + residue] = {shard.slot, member, (first_row + residue - shard.begin) / shard.stride,
                                        period / shard.stride};
    ++member;
  }
  for (std::int64_t residue = 0; residue < std::min(period, rows); ++residue)
    if (owners_[first_owner + residue].slot < 0) fail(feature, first_row + residue);
  blocks_.push_back({first_row, period, first_owner, 1 / static_cast<double>(period)});
  return rows;
}

}  // namespace shardmark::kernels
