// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/far_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/dynamic/eviction.hpp"
#include "reference/dynamic/key_buckets.hpp"
#include "reference/storage.hpp"

namespace shardmark::placement {
namespace {

constexpr double most_steps = 4096;  ///< that a cache is taken to remember

double bytes_of_row(const Table& table) {
  const auto bytes = static_cast<double>(storage_of(table).row_bytes(table, table.dim) +
                                         4 * state_per_row(table.optimizer.kind, table.dim));
  return storage_of(table).comes_and_goes ? bytes + key_table_bytes(1.0) + sizeof(RowUse) : bytes;
}

/// Returns the bytes of the distinct rows of that many samples, in all tables whose rows are stored, and of the vectors
/// and their gradients that pass through the caches between them, whose arrays serve all steps.
double footprint(const StepContext& step, double samples) {
  double bytes = 2 * pooled_bytes(step, std::min(samples, static_cast<double>(step.global_batch)));
  for (std::int64_t t = 0; t < std::ssize(step.tables()); ++t) {
    const Table& table = step.tables()[t];
    if (!storage_of(table).computes())
      bytes +=
          bytes_of_row(table) * step.statistics.expected(t, {0, table.rows, 1}, std::llround(samples)).distinct_rows;
  }
  return bytes;
}

}  // namespace

double cached_samples(const StepContext& step, const MachineModel& machine) {
  const double room = machine.cache_per_rank * step.ranks;
  double samples = 1.0, before = 0.0, low = 0.0;
  for (;; samples *= 2) {
    const double high = footprint(step, samples);
    if (high >= room) return before + (samples - before) * (high > low ? (room - low) / (high - low) : 0.0);
    if (samples >= most_steps * static_cast<double>(step.global_batch)) return samples;
    before = samples;
    low = high;
  }
}

FarRows far_rows(const StepContext& step, std::int64_t table, const RowSet& rows, double share, double cache) {
  const auto distinct = [&](double samples) {
    const auto whole = static_cast<std::int64_t>(std::llround(samples));
    return whole <= 0 ? 0.0 : step.statistics.expected(table, rows, whole).distinct_rows;
  };
  const double samples = std::max(1.0, std::round(share * static_cast<double>(step.global_batch)));
  const double in_step = distinct(samples);
  if (!step.cached_samples) return {in_step, 0.0, in_step};
  const double window = std::round(share * *step.cached_samples), kept = std::min(1.0, window / samples);
  const double since_last_step = std::max(0.0, distinct(window + samples) - distinct(window));
  if (kept == 1.0) return {since_last_step, 0.0, since_last_step};
  double in_lookup = in_step;
  const Table& of = step.tables()[table];
  const double bytes = in_step * static_cast<double>(storage_of(of).row_bytes(of, of.dim));
  if (bytes > cache) {
    const double own = std::round(samples * cache / bytes), ahead = std::max(1.0, std::round(own / 4));
    in_lookup = std::max(in_step, samples / ahead * (distinct(own + ahead) - distinct(own)));
  }
  return {kept * since_last_step + (1.0 - kept) * in_lookup, (1.0 - kept) * in_step,
          kept * since_last_step + (1.0 - kept) * in_step};
}

double pooled_bytes(const StepContext& step, double samples) {
  double values = 0.0;  // of a sample
  for (const Feature& feature : step.features())
    values += static_cast<double>(bags_per_sample(feature) * step.tables()[feature.table].dim);
  return 4 * samples * values;
}

double share_beyond(double bytes, double cache) { return cache > 0.0 && bytes > cache ? 1.0 - cache / bytes : 0.0; }

double lines_of(std::int64_t bytes) {
  constexpr std::int64_t line = 64;
  return static_cast<double>(bytes + line - std::gcd(bytes, line)) / line;
}

}  // namespace shardmark::placement
