// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cheapest_transfers.hpp"

#include <algorithm>
#include <set>

namespace shardmark {

std::vector<RowSplit> row_splits(const Plan& plan, std::span<const Table> tables) {
  std::vector<RowSplit> splits;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    std::set<std::pair<std::int64_t, std::int64_t>> columns;
    for (const Shard& shard : plan.tables[t].shards)
      if (shard.rows.count() < tables[t].rows) columns.emplace(shard.column_begin, shard.column_end);
    for (const auto& [begin, end] : columns) splits.push_back({static_cast<std::int64_t>(t), begin, end});
  }
  return splits;
}

TransferBytes::TransferBytes(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                             WireTypes wire, IdType ids, bool weighted)
    : plan_(plan),
      features_(features),
      wire_(wire),
      row_id_bytes_(bytes_of(ids)),
      id_bytes_(row_id_bytes_ + (weighted ? 4 : 0)),
      splits_(row_splits(plan, tables)),
      bytes_(splits_.size() * candidates.size() * static_cast<std::size_t>(plan.ranks)) {}

void TransferBytes::add_home(int home, std::span<const FeatureBags> bags) {
  for (std::size_t s = 0; s < splits_.size(); ++s)
    for (const Shard& shard : plan_.tables[splits_[s].table].shards)
      if (shard.column_begin == splits_[s].column_begin && shard.column_end == splits_[s].column_end)
        add_shard(s, shard, home, bags);
}

void TransferBytes::add_shard(std::size_t split, const Shard& shard, int home, std::span<const FeatureBags> bags) {
  std::vector<std::int64_t> rows;
  std::int64_t all_bags = 0, touched_bags = 0;
  for (std::size_t f = 0; f < features_.size(); ++f) {
    if (features_[f].table != splits_[split].table) continue;
    const auto& offsets = bags[f].offsets;
    all_bags += std::ssize(offsets) - 1;
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
      const auto before = rows.size();
      for (auto i = static_cast<std::size_t>(offsets[b]); i < static_cast<std::size_t>(offsets[b + 1]); ++i)
        if (shard.rows.contains(bags[f].indices[i])) rows.push_back(bags[f].indices[i]);
      touched_bags += rows.size() > before;
    }
  }
  const std::int64_t lengths_and_ids = 4 * all_bags + id_bytes_ * std::ssize(rows);
  std::ranges::sort(rows);
  const auto distinct = std::unique(rows.begin(), rows.end()) - rows.begin();
  const std::int64_t columns = shard.columns();
  add(split, RowTransfer::dense_partials, home, shard.rank, lengths_and_ids, all_bags, columns);
  add(split, RowTransfer::sparse_partials, home, shard.rank, lengths_and_ids, touched_bags, columns);
  add(split, RowTransfer::unique_rows, home, shard.rank, 8 + row_id_bytes_ * distinct, distinct, columns);
}

/// What the home asks for and returns, and what the owner sends.
void TransferBytes::add(std::size_t split, RowTransfer transfer, int home, int owner, std::int64_t asked_bytes,
                        std::int64_t vectors, std::int64_t columns) {
  if (home == owner) return;
  const auto candidate = static_cast<std::size_t>(std::ranges::find(candidates, transfer) - candidates.begin());
  const std::size_t first = (split * candidates.size() + candidate) * static_cast<std::size_t>(plan_.ranks);
  bytes_[first + static_cast<std::size_t>(home)] += asked_bytes + vectors * row_bytes(wire_.backward, columns);
  bytes_[first + static_cast<std::size_t>(owner)] += vectors * row_bytes(wire_.forward, columns);
}

std::span<const std::int64_t> TransferBytes::sent(std::size_t split, std::size_t candidate) const {
  const auto ranks = static_cast<std::size_t>(plan_.ranks);
  return std::span(bytes_).subspan((split * candidates.size() + candidate) * ranks, ranks);
}

std::vector<RowTransfer> TransferBytes::cheapest() const {
  std::vector<RowTransfer> chosen;
  for (std::size_t s = 0; s < splits_.size(); ++s) {
    const bool max = std::ranges::any_of(features_, [&](const Feature& feature) {
      return feature.table == splits_[s].table && feature.pooling == Pooling::max;
    });
    std::size_t best = max ? candidates.size() - 1 : 0;
    for (std::size_t c = best; c < candidates.size(); ++c)
      if (std::ranges::max(sent(s, c)) < std::ranges::max(sent(s, best))) best = c;
    chosen.push_back(candidates[best]);
  }
  return chosen;
}

}  // namespace shardmark
