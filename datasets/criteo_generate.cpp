// SPDX-License-Identifier: Apache-2.0
#include "datasets/criteo_generate.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "datasets/byte_stream.hpp"
#include "reference/counter_random.hpp"
#include "reference/error.hpp"

namespace shardmark::datasets {
namespace {

constexpr std::size_t longest_line = 1 + criteo_dense * 21 + criteo_categories * 9 + 1;
constexpr std::int64_t lines_per_write = 2048;
constexpr int shifted_column = 1;  // I2
constexpr std::int64_t shift = 2;

/// Which decision a random number is for; values below criteo_fields draw that field.
enum Draw : std::int64_t { draw_label = criteo_fields, draw_missing };

double uniform(const CriteoRecipe& recipe, std::int64_t sample, std::int64_t draw) {
  return unit_interval(random_bits(recipe.seed, sample, draw));
}

std::int64_t draw_integer(int column, double u) {
  const double mean = kaggle_statistics::mean[column];
  const double value = mean * (1.0 / std::sqrt(1.0 - u) - 1.0);
  const auto most = kaggle_statistics::maximum[column];
  const auto integer = static_cast<std::int64_t>(std::min(value, static_cast<double>(most)));
  return column == shifted_column ? integer - shift : integer;
}

char* write_hex(char* at, std::uint32_t value) {
  for (int digit = 7; digit >= 0; --digit) *at++ = "0123456789abcdef"[value >> (4 * digit) & 15U];
  return at;
}

void check(const CriteoRecipe& recipe) {
  if (recipe.samples < 1)
    throw InputError("generate criteo: needs at least 1 sample, got " + std::to_string(recipe.samples));
  if (!(recipe.alpha >= 0.0) || recipe.alpha > 10.0)
    throw InputError("generate criteo: alpha must lie in [0, 10], got " + std::to_string(recipe.alpha));
  for (std::size_t c = 0; c < recipe.rows.size(); ++c)
    if (recipe.rows[c] < 1 || recipe.rows[c] > std::int64_t{UINT32_MAX} + 1)
      throw InputError("generate criteo: column C" + std::to_string(c + 1) + " needs 1 to 2^32 ids, got " +
                       std::to_string(recipe.rows[c]));
}

class LineGenerator {
 public:
  explicit LineGenerator(const CriteoRecipe& recipe) : recipe_(recipe) {
    for (const std::int64_t rows : recipe.rows) ids_.emplace_back(rows, recipe.alpha);
  }

  /// Writes a sample as at most longest_line characters at `at`; returns their end.
  char* write(std::int64_t sample, char* at) const {
    constexpr double positive_rate = static_cast<double>(kaggle_statistics::positives) / kaggle_statistics::samples;
    *at++ = uniform(recipe_, sample, draw_label) < positive_rate ? '1' : '0';
    for (int field = 0; field < criteo_fields; ++field) {
      *at++ = '\t';
      if (!missing(sample, field)) at = write_field(sample, field, at);
    }
    *at++ = '\n';
    return at;
  }

 private:
  bool missing(std::int64_t sample, int field) const {
    const std::int64_t count = kaggle_statistics::missing[field];
    if (count == 0) return false;
    return uniform(recipe_, sample, draw_missing + count) * kaggle_statistics::samples < static_cast<double>(count);
  }

  char* write_field(std::int64_t sample, int field, char* at) const {
    const double u = uniform(recipe_, sample, field);
    if (field < criteo_dense) return std::to_chars(at, at + 20, draw_integer(field, u)).ptr;
    const int column = field - criteo_dense;
    return write_hex(at, criteo_value(column, static_cast<std::uint32_t>(ids_[column](u))));
  }

  const CriteoRecipe& recipe_;
  std::vector<PowerLaw> ids_;
};

}  // namespace

PowerLaw::PowerLaw(std::int64_t rows, double alpha) : rows_(rows) {
  const double g = 1.0 - alpha;
  const auto ends = static_cast<double>(rows + 1);
  span_ = g == 0.0 ? std::log(ends) : std::pow(ends, g) - 1.0;
  exponent_ = g == 0.0 ? 0.0 : 1.0 / g;
}

std::int64_t PowerLaw::operator()(double u) const {
  const double y = exponent_ == 0.0 ? std::exp(u * span_) : std::pow(u * span_ + 1.0, exponent_);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(y, static_cast<double>(rows_))) - 1, 0, rows_ - 1);
}

/// MurmurHash3's 32-bit finalizer (Appleby), a bijection, of the id moved by a constant of the column.
std::uint32_t criteo_value(int column, std::uint32_t id) {
  std::uint32_t x = id + 0x9e3779b9U * static_cast<std::uint32_t>(column + 1);
  x ^= x >> 16;
  x *= 0x85ebca6bU;
  x ^= x >> 13;
  x *= 0xc2b2ae35U;
  return x ^ (x >> 16);
}

void generate_criteo(const std::string& path, const CriteoRecipe& recipe, const Progress& progress) {
  check(recipe);
  const LineGenerator lines(recipe);
  const auto file = create_bytes(path);
  std::vector<char> text(longest_line * lines_per_write);
  for (std::int64_t first = 0; first < recipe.samples; first += lines_per_write) {
    const std::int64_t last = std::min(recipe.samples, first + lines_per_write);
    char* end = text.data();
    for (std::int64_t sample = first; sample < last; ++sample) end = lines.write(sample, end);
    file->write({text.data(), static_cast<std::size_t>(end - text.data())});
    progress(last);
  }
  file->finish();
}

}  // namespace shardmark::datasets
