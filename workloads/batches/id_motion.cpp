// SPDX-License-Identifier: Apache-2.0
#include "workloads/batches/id_motion.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "comm/placement/statistics/row_distribution.hpp"
#include "reference/counter_random.hpp"
#include "workloads/batches/permute.hpp"
#include "workloads/cases/placement_inputs.hpp"

namespace shardmark::workloads {
namespace {

constexpr std::uint64_t of_bags = 0x6b6570745f626167ULL, of_moves = 0x6d6f7665645f6964ULL,
                        of_drift = 0x6472696674696e67ULL;
constexpr std::int64_t most_groups = 1024;

/// Returns the probability with which bags are kept for an overlap, by bisection: more bags, more rows of both batches.
template <class Overlap>
double kept_for(double wanted, const Overlap& overlap) {
  double low = 0.0, high = 1.0;
  for (int halvings = 0; halvings < 40; ++halvings) {
    const double middle = 0.5 * (low + high);
    (overlap(middle) < wanted ? low : high) = middle;
  }
  return high;
}

/// Returns where each group is after `times` exchanges among a share of them.
std::vector<std::int64_t> exchanged_groups(std::uint64_t seed, std::int64_t groups, double share, std::int64_t times) {
  std::vector<std::int64_t> at(groups), order(groups);
  std::iota(at.begin(), at.end(), 0);
  std::iota(order.begin(), order.end(), 0);
  const auto chosen = std::min(groups, static_cast<std::int64_t>(std::ceil(share * static_cast<double>(groups))));
  for (std::int64_t time = 1; time <= times; ++time) {
    for (std::int64_t k = 0; k < chosen; ++k) {
      const auto rest = static_cast<std::uint64_t>(groups - k);
      std::swap(order[k], order[k + static_cast<std::int64_t>(random_bits(seed, time, k) % rest)]);
    }
    for (std::int64_t k = 1; k < chosen; ++k) std::swap(at[order[k - 1]], at[order[k]]);
  }
  return at;
}

}  // namespace

IdMotion::IdMotion(const Workload& workload, std::uint64_t seed) : seed_(seed), ids_(workload.ids) {
  for (std::size_t t = 0; t < workload.tables.size(); ++t)
    tables_.push_back(of_table(workload, static_cast<std::int64_t>(t)));
  for (const Feature& feature : workload.features) table_of_.push_back(feature.table);
}

IdMotion::OfTable IdMotion::of_table(const Workload& workload, std::int64_t table) const {
  OfTable motion{.rows = workload.tables[table].rows};
  if (!ids_.overlap) return motion;
  std::vector<Feature> features;
  for (const Feature& feature : workload.features)
    if (feature.table == table) features.push_back(feature);
  const placement::IdStatistics law = id_statistics_of(ids_);
  const std::int64_t samples = workload.global_batch;
  const double distinct = placement::drawn_rows(motion.rows, features, law)->distinct({0, motion.rows, 1}, samples);
  if (distinct <= 0.0) return motion;
  const auto overlap = [&](double kept) {
    return placement::repeated_rows(motion.rows, features, law, samples, kept) / distinct;
  };
  const double apart = overlap(0.0), by_chance = distinct / static_cast<double>(motion.rows);
  if (*ids_.overlap >= 1.0)
    motion.kept = 1.0;
  else if (*ids_.overlap > apart)
    motion.kept = kept_for(*ids_.overlap, overlap);
  else if (apart > by_chance)
    motion.moved =
        std::llround(std::min(1.0, (apart - *ids_.overlap) / (apart - by_chance)) * static_cast<double>(motion.rows));
  return motion;
}

std::int64_t IdMotion::drawn_in(std::int64_t step, std::int64_t feature, std::int64_t sample) const {
  const double kept = tables_[table_of_[feature]].kept;
  if (kept == 0.0) return step;
  if (kept == 1.0) return 0;
  while (step > 0 && unit_interval(random_bits(seed_ ^ of_bags, step, feature, sample)) < kept) --step;
  return step;
}

IdMotion::InBatch::InBatch(const IdMotion& motion, std::int64_t step) : motion_(motion), step_(step) {
  const Drift& drift = motion_.ids_.drift;
  if (!drift.on()) return;
  for (const OfTable& table : motion_.tables_) {
    const std::int64_t groups = std::min(table.rows, most_groups);
    if (!groups_.contains(groups))
      groups_[groups] = exchanged_groups(motion_.seed_ ^ of_drift, groups, drift.share, step / drift.every);
  }
}

std::int64_t IdMotion::InBatch::row(std::int64_t table, std::int64_t id) const {
  const auto& [rows, kept, moved] = motion_.tables_[table];
  if (moved > 0) {
    const std::uint64_t seed = random_bits(motion_.seed_ ^ of_moves, table);
    const std::int64_t place = permute(seed, rows, id);
    if (place < moved) id = permuted_back(seed, rows, (place + step_ % moved) % moved);
  }
  if (!groups_.empty()) {
    const std::uint64_t seed = random_bits(motion_.seed_ ^ of_drift, table);
    const auto groups = std::min(rows, most_groups);
    const std::int64_t place = permute(seed, rows, id), in_group = place / groups;
    if (in_group < rows / groups)
      id = permuted_back(seed, rows, in_group * groups + groups_.at(groups)[place % groups]);
  }
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>((Wide{motion_.ids_.shift} * step_ + id) % rows);
}

}  // namespace shardmark::workloads
