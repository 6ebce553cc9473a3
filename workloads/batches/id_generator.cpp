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

constexpr std::uint64_t of_births = 0x6b6579735f626f72ULL;

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

IdGenerator::IdGenerator(const Workload& workload, std::uint64_t seed)
    : workload_(workload), seed_(seed), motion_(workload, seed) {
  for (std::int64_t t = 0; t < std::ssize(workload.tables); ++t) births_.push_back(births_of(workload, t));
  std::vector<std::int64_t> next(workload.tables.size());
  for (const Feature& feature : workload.features) {
    first_place_.push_back(next[feature.table]);
    next[feature.table] += workload.global_batch * places_of_sample(workload, feature);
  }
}

std::int64_t IdGenerator::born_at(std::int64_t table, std::int64_t drawn_in, std::int64_t place) const {
  const KeyBirths& births = births_[table];
  if (births.fresh == 0) return -1;
  const std::int64_t turn = permute(random_bits(seed_ ^ of_births, table, drawn_in), births.places, place);
  return turn < births.fresh ? births.expected + drawn_in * births.fresh + turn : -1;
}

std::int64_t IdGenerator::living_key(std::int64_t table, std::int64_t step, std::int64_t id) const {
  const KeyBirths& births = births_[table];
  if (births.life > 0) {
    const std::uint64_t age = random_bits(seed_ ^ of_births, table, id) % static_cast<std::uint64_t>(births.life);
    id += (step + static_cast<std::int64_t>(age)) / births.life * births.expected;
  }
  return drawn_key(workload_.tables[table], table, id);
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
    const std::int64_t places = places_of_sample(workload, feature);
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
          const auto drawn_of = [&](std::int64_t from) {
            const std::int64_t drawn = draw(workload.ids, unit_interval(drawn_bits(Draw::id, i)), from);
            return drawn < rows ? here.row(feature.table, drawn) : drawn;
          };
          if (workload.tables[feature.table].any_key) {
            const std::int64_t place = first_place_[f] + sample * places + i;
            const std::int64_t born = i < places ? born_at(feature.table, drawn_in, place) : -1;
            batch.indices.push_back(
                born >= 0 ? drawn_key(workload.tables[feature.table], feature.table, born)
                          : living_key(feature.table, step, drawn_of(rows + drawn_in * births_[feature.table].fresh)));
          } else {
            const std::int64_t id = drawn_of(rows);
            batch.indices.push_back(workload.ids.shuffled ? permute(random_bits(seed_, feature.table), rows, id) : id);
          }
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
