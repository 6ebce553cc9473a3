// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "datasets/criteo_line.hpp"
#include "datasets/id_mapping.hpp"

namespace shardmark::datasets {

/// Describes a synthetic data set in the shape of Criteo's. Every field is a function of (seed, sample, field).
///   label     1 with the Kaggle share of positives, 25.6 %
///   missing   with the Kaggle rates per column; columns of equal rate are missing together (criteo_line.hpp)
///   I1..I13   our choice: floor of a Lomax tail of shape 2 (P(X > x) = (1 + x / mean)^-2) with the Kaggle mean, cut at
///             the Kaggle maximum; I2 lies 2 lower, so that negative values occur as they do there
///   C1..C26   a power law over the column's `rows` ids, written as the id scrambled by a bijection of 32 bits per
///             column
struct CriteoRecipe {
  std::int64_t samples = 0;
  std::uint64_t seed = 1;
  double alpha = 1.05;  ///< P(id) ~ (id + 1)^-alpha; 0 is uniform
  CriteoRows rows = criteo_cardinalities[0].rows;
};

/// Writes `path` (TSV; .gz and .zst compressed). The same recipe gives the same text on one C library (its pow).
/// Throws InputError on a recipe that makes no sense or when the file cannot be written.
void generate_criteo(const std::string& path, const CriteoRecipe& recipe, const Progress& progress);

/// Draws an id of [0, rows) by the power law, from u in [0, 1). With g = 1 - alpha: y = (u ((rows + 1)^g - 1) +
/// 1)^(1/g), or (rows + 1)^u for alpha = 1; the id is floor(y) - 1. (It is the generator of NVIDIA's
/// distributed-embeddings.)
class PowerLaw {
 public:
  PowerLaw(std::int64_t rows, double alpha);
  std::int64_t operator()(double u) const;

 private:
  std::int64_t rows_;
  double span_;      ///< (rows + 1)^g - 1, or log(rows + 1) for alpha = 1
  double exponent_;  ///< 1 / g, or 0 for alpha = 1
};

/// Returns the 32-bit value that stands for an id of a column; different ids of a column have different values.
std::uint32_t criteo_value(int column, std::uint32_t id);

}  // namespace shardmark::datasets
