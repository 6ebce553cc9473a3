// SPDX-License-Identifier: Apache-2.0
#include "reference/tensor_train/initial_cores.hpp"

#include <cmath>
#include <numbers>

#include "reference/counter_random.hpp"
#include "reference/tensor_train/stored_cores.hpp"

namespace shardmark::reference {
namespace {

double product_of_ranks(const TensorTrainShape& shape) {
  double product = 1.0;
  for (int t = 1; t < shape.cores; ++t) product *= static_cast<double>(shape.r[t]);
  return product;
}

double uniform(std::uint64_t bits, double low, double high) { return low + (high - low) * unit_interval(bits); }

/// Draws N(0, 1) where it is at least 2 from 0: Marsaglia 1964. FBTT-Embedding gets this by drawing until it is.
double tail_of_normal(std::uint64_t bits) {
  constexpr double least = 2.0;
  for (std::uint64_t attempt = 0;; ++attempt) {
    const std::uint64_t length = next_random_bits(bits, 2 * attempt);
    const double x = std::sqrt(least * least - 2.0 * std::log(above_zero(length)));
    const std::uint64_t accepted = next_random_bits(bits, 2 * attempt + 1);
    if (x * unit_interval(accepted) < least) return (length & 1U) != 0 ? x : -x;
  }
}

/// Draws k / 15 + U(+-0.7 / 60), k = -14 .. 14.
double sawtooth(std::uint64_t bits) {
  const auto tooth = static_cast<double>(symmetric_integer(next_random_bits(bits, std::uint64_t{0}), 14));
  return tooth / 15.0 + uniform(next_random_bits(bits, std::uint64_t{1}), -0.7 / 60.0, 0.7 / 60.0);
}

/// Draws one of 0 .. count - 1.
std::int64_t one_of(std::int64_t count, std::uint64_t bits) {
  return static_cast<std::int64_t>((bits >> 32) * static_cast<std::uint64_t>(count) >> 32);
}

/// Draws the approx_uniform of three cores, without the factor E^(-1/6).
class ApproxUniform {
 public:
  ApproxUniform(const TensorTrainShape& shape, int t, std::uint64_t core_bits)
      : shape_(shape), t_(t), core_bits_(core_bits) {}

  double operator()(std::int64_t slice, std::int64_t element) const {
    constexpr double sigma = 0.01;
    const double noise = standard_normal(random_bits(core_bits_, slice, element));
    const double root = std::sqrt(static_cast<double>(shape_.r[1]));
    if (t_ == 0) return 1.0 / root + sigma * noise;
    const std::int64_t last = element % shape_.r[t_ + 1], column = element / shape_.r[t_ + 1] % shape_.q[t_];
    const std::int64_t first = element / shape_.r[t_ + 1] / shape_.q[t_];
    // Draws of the column come behind those of the elements of the slice.
    const std::uint64_t of_column = random_bits(core_bits_, slice, shape_.slice_elements(t_) + column);
    const std::uint64_t place = next_random_bits(of_column, std::uint64_t{2});
    if (t_ == 2) return first == 1 + 2 * one_of(shape_.r[2] / 2, place) ? sawtooth(of_column) : sigma * noise;
    if (last != 2 * one_of((shape_.r[2] + 1) / 2, place)) return 1.0 / root + sigma * noise;
    const bool tooth = first == one_of(shape_.r[1], next_random_bits(of_column, std::uint64_t{3}));
    return root * (tooth ? sawtooth(of_column) : sigma * sigma * noise);
  }

 private:
  const TensorTrainShape& shape_;
  int t_;
  std::uint64_t core_bits_;
};

/// Calls entry(slice, element) for all of core t.
template <class Entry>
std::vector<float> filled(const TensorTrainShape& shape, int t, const Entry& entry) {
  std::vector<float> core;
  core.reserve(static_cast<std::size_t>(shape.p[t] * shape.slice_elements(t)));
  for (std::int64_t slice = 0; slice < shape.p[t]; ++slice)
    for (std::int64_t element = 0; element < shape.slice_elements(t); ++element)
      core.push_back(static_cast<float>(entry(slice, element)));
  return core;
}

}  // namespace

float exact_core_unit(const TensorTrainShape& shape, float row_unit) {
  const double cores = shape.cores;
  const double of_integers = std::sqrt(product_of_ranks(shape) * std::pow(2.0 / 3.0, cores));
  const double wanted = 64.0 / std::numbers::sqrt3 * static_cast<double>(row_unit);
  return static_cast<float>(std::exp2(std::round(std::log2(wanted / of_integers) / cores)));
}

std::vector<float> initial_core(const Table& table, const TensorTrainShape& shape, std::int64_t table_number, int t,
                                const RowValues& values) {
  const std::uint64_t core_bits = random_bits(values.seed, core_number(table_number, t));
  const auto draw = [&](std::int64_t slice, std::int64_t element) { return random_bits(core_bits, slice, element); };
  const auto rows = static_cast<double>(table.rows), dim = static_cast<double>(table.dim);
  const double cores = shape.cores, ranks = product_of_ranks(shape);
  if (values.unit > 0.0F) {
    const float unit = exact_core_unit(shape, values.unit);
    return filled(shape, t, [&](auto... at) { return static_cast<float>(symmetric_integer(draw(at...), 1)) * unit; });
  }
  if (table.tensor_train.imported) return (*table.tensor_train.imported)[t];
  switch (table.tensor_train.initializer) {
    case CoreInitializer::scaled: {
      const double scale = values.scale, requested = table.tensor_train.variance;
      const double variance = requested > 0.0 ? requested : scale * scale / 3.0;
      const double half_width = std::sqrt(3.0 * std::pow(variance / ranks, 1.0 / cores));
      return filled(shape, t, [&](auto... at) { return uniform(draw(at...), -half_width, half_width); });
    }
    case CoreInitializer::uniform: {
      const double most = std::pow(2.0 / (rows + dim) / ranks, 0.5 / cores);
      return filled(shape, t, [&](auto... at) { return uniform(draw(at...), 0.0, most); });
    }
    case CoreInitializer::normal:
      return filled(shape, t, [&](auto... at) { return standard_normal(draw(at...)) / std::sqrt(rows); });
    case CoreInitializer::approx_normal: {
      const double scale = std::pow(3.0 * rows, -1.0 / 6.0);
      return filled(shape, t, [&](auto... at) { return scale * tail_of_normal(draw(at...)); });
    }
    case CoreInitializer::approx_uniform: {
      const ApproxUniform entry(shape, t, core_bits);
      const double scale = std::pow(rows, -1.0 / 6.0);
      return filled(shape, t, [&](auto... at) { return scale * entry(at...); });
    }
  }
  return {};
}

}  // namespace shardmark::reference
