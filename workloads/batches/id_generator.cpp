// SPDX-License-Identifier: Apache-2.0
#include "workloads/batches/id_generator.hpp"

#include <algorithm>

#include "reference/counter_random.hpp"
#include "workloads/batches/permute.hpp"

namespace shardmark::workloads {

/// Inverts the continuous power law on [1, rows + 1): y = (r ((N + 1)^g - 1) + 1)^(1/g) with g = 1 - alpha, and y = (N
/// + 1)^r for alpha = 1; the id is floor(y) - 1.
std::int64_t draw_power_law(double r, std::int64_t rows, double alpha) {
  const double n = static_cast<double>(rows) + 1.0;
  const double g = 1.0 - alpha;
  const double y = g == 0.0 ? std::pow(n, r) : std::pow(r * (std::pow(n, g) - 1.0) + 1.0, 1.0 / g);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(y) - 1, 0, rows - 1);
}

std::int64_t draw_uniform(double r, std::int64_t rows) {
  return std::min(static_cast<std::int64_t>(r * static_cast<double>(rows)), rows - 1);
}

namespace {

enum class Draw : int { length, id, weight, segments };

std::int64_t draw(const IdSpec& ids, double r, std::int64_t rows) {
  switch (ids.distribution) {
    case IdDistribution::power_law:
      return draw_power_law(r, rows, ids.alpha);
    case IdDistribution::uniform:
      return draw_uniform(r, rows);
  }
  return 0;
}

std::uint64_t bits(std::uint64_t seed, std::int64_t step, std::int64_t feature, std::int64_t sample, Draw what,
                   std::int64_t position) {
  return random_bits(seed ^ 0x6964735f67656e73ULL, step, feature, sample, static_cast<int>(what), position);
}

/// Returns `number`, or a number from 0 to twice that with the same mean.
std::int64_t drawn_length(bool ragged, std::uint64_t random, std::int64_t number) {
  return ragged ? draw_uniform(unit_interval(random), 2 * number + 1) : number;
}

}  // namespace

std::int64_t IdGenerator::key_of(std::int64_t table, std::int64_t id) const {
  const Table& of = workload_.tables[table];
  if (of.any_key) return drawn_key(table, id);
  return workload_.ids.shuffled ? permute(random_bits(seed_, table), of.rows, id) : id;
}

Batch IdGenerator::batch(std::int64_t step, std::int64_t first, std::int64_t count) const {
  const Workload& workload = workload_;
  Batch batch{
      .samples = count, .features = std::ssize(workload.features), .offsets = {0}, .indices = {}, .weights = {}};
  batch.offsets.reserve(batch.bags() + 1);
  const bool ragged = workload.ids.ragged;
  const auto is_nested = [](const Feature& feature) { return feature.segments > 0; };
  const bool any_nested = std::ranges::any_of(workload.features, is_nested);
  if (any_nested) batch.first_segment = batch.segment_offsets = {0};
  const IdMotion::InBatch here = motion_.in_batch(step);
  for (std::int64_t f = 0; f < batch.features; ++f) {
    const Feature& feature = workload.features[f];
    const std::int64_t rows = workload.tables[feature.table].rows;
    const std::int64_t of_segment = is_nested(feature) ? feature.hotness / feature.segments : feature.hotness;
    for (std::int64_t sample = first; sample < first + count; ++sample) {
      const std::int64_t drawn_in = motion_.drawn_in(step, f, sample);
      const auto drawn_bits = [&](Draw what, std::int64_t position) {
        return bits(seed_, drawn_in, f, sample, what, position);
      };
      const std::int64_t segments =
          is_nested(feature) ? drawn_length(ragged, drawn_bits(Draw::segments, 0), feature.segments) : 1;
      std::int64_t i = 0;
      for (std::int64_t k = 0; k < segments; ++k) {
        const std::int64_t end = i + drawn_length(ragged, drawn_bits(Draw::length, k), of_segment);
        for (; i < end; ++i) {
          const std::int64_t drawn = draw(workload.ids, unit_interval(drawn_bits(Draw::id, i)), rows);
          batch.indices.push_back(key_of(feature.table, here.row(feature.table, drawn)));
          if (workload.ids.weighted)
            batch.weights.push_back(0.25F * static_cast<float>(1 + (drawn_bits(Draw::weight, i) >> 61)));
        }
        if (any_nested) batch.segment_offsets.push_back(batch.nnz());
      }
      batch.offsets.push_back(batch.nnz());
      if (any_nested) batch.first_segment.push_back(std::ssize(batch.segment_offsets) - 1);
    }
  }
  return batch;
}

}  // namespace shardmark::workloads
