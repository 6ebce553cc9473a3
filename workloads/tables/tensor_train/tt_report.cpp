// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/tensor_train/tt_report.hpp"

#include <algorithm>
#include <cmath>

#include "reference/tensor_train/shape.hpp"
#include "results/tensor_train_fields.hpp"

namespace shardmark::workloads {
namespace {

namespace fields = results::tensor_train_fields;

double to_four_places(double value) { return std::round(1e4 * value) / 1e4; }

double per(double over, double under) { return under > 0.0 ? to_four_places(over / under) : 0.0; }

/// Returns one name where all tables share it.
nlohmann::ordered_json direction_of(const std::vector<std::string>& directions) {
  if (std::ranges::count(directions, directions.front()) == std::ssize(directions)) return directions.front();
  return directions;
}

/// Returns the products from the first two cores on.
std::vector<std::int64_t> products_of(std::span<const std::int64_t> numbers) {
  std::vector<std::int64_t> products;
  for (int t = 1; t < TensorTrainShape::most_cores && numbers[tt_number("prefixes.1") + t] > 0; ++t)
    products.push_back(numbers[tt_number("prefixes.1") + t]);
  return products;
}

nlohmann::ordered_json cache_details(std::span<const std::int64_t> numbers) {
  nlohmann::ordered_json cache;
  const auto of = [&](const char* name) { return numbers[tt_number(std::string("cache.") + name)]; };
  for (const char* name : {fields::hits, fields::stale, fields::misses, fields::drops, fields::evictions})
    cache[name] = of(name);
  const std::int64_t lookups = of(fields::hits) + of(fields::stale) + of(fields::misses);
  cache[fields::hit_rate] = per(static_cast<double>(of(fields::hits)), static_cast<double>(lookups));
  cache[fields::kept_differences] = of(fields::kept_differences);
  return cache;
}

}  // namespace

nlohmann::ordered_json tt_details(std::span<const Table> tables, std::span<const std::int64_t> numbers,
                                  const StepMilliseconds& times) {
  std::vector<std::string> directions;
  std::int64_t parameters = 0;
  double elements = 0.0;
  bool has_cache = false;
  for (const Table& table : tables) {
    const bool suffix = table.tensor_train.direction == ContractionDirection::suffix;
    directions.emplace_back(name_of(suffix ? ContractionDirection::suffix : ContractionDirection::prefix));
    parameters += tensor_train_shape(table).parameters();
    elements += static_cast<double>(table.rows) * static_cast<double>(table.dim);
    has_cache |= table.tensor_train.cache.rows > 0;
  }
  const auto of = [&](const char* name) { return numbers[tt_number(name)]; };
  const auto lookups = static_cast<double>(of(fields::lookups));
  const auto gflops = [&](const char* name) {
    return per(1e-6 * static_cast<double>(of(name)), times.lookup_and_update);
  };
  nlohmann::ordered_json details{{fields::tables, directions.size()},
                                 {fields::parameters, parameters},
                                 {fields::compression, per(elements, static_cast<double>(parameters))},
                                 {fields::direction, direction_of(directions)},
                                 {fields::lookups, of(fields::lookups)},
                                 {fields::rows, of(fields::rows)},
                                 {fields::prefixes, products_of(numbers)},
                                 {fields::nominal_flops, of(fields::nominal_flops)},
                                 {fields::executed_flops, of(fields::executed_flops)},
                                 {fields::us_per_lookup, per(1e3 * times.lookup_and_update, lookups)},
                                 {fields::us_per_lookup_of_step, per(1e3 * times.step, lookups)},
                                 {fields::nominal_gflops, gflops(fields::nominal_flops)},
                                 {fields::executed_gflops, gflops(fields::executed_flops)}};
  if (has_cache) details[fields::cache] = cache_details(numbers);
  return details;
}

}  // namespace shardmark::workloads
