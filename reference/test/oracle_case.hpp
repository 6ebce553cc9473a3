// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "reference/oracle.hpp"
#include "reference/test/float_step.hpp"

namespace shardmark::reference {

/// Bags of 0 to 6 ids; few rows, so that many gradients meet in each and cancel, or many, so that most are seen once.
inline Batch random_batch(std::int64_t features, std::int64_t rows, bool weighted, std::uint32_t seed) {
  std::mt19937 random(seed);
  Batch batch{.samples = 11, .features = features, .offsets = {0}, .indices = {}, .weights = {}};
  std::uniform_real_distribution<float> weight(0.1F, 2.0F);
  for (std::int64_t bag = 0; bag < batch.bags(); ++bag) {
    for (auto i = random() % 7; i > 0; --i) {
      batch.indices.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(rows)));
      if (weighted) batch.weights.push_back(weight(random));
    }
    batch.offsets.push_back(batch.nnz());
  }
  return batch;
}

/// One table, two features and how the rows are updated; `float_step` is a correct program of it in fp32.
struct Case {
  Pooling pooling;
  Optimizer optimizer;
  bool weighted;
  std::uint32_t seed;
  ValueType value_type = ValueType::fp32;
  bool stochastic = false;
  float unit = 0.0F;

  std::int64_t rows() const { return seed % 2 == 0 ? 3 : 40; }
  Table table() const {
    return {.name = "A",
            .rows = rows(),
            .dim = 5,
            .optimizer = optimizer,
            .value_type = value_type,
            .stochastic_rounding = stochastic};
  }
  std::vector<Feature> features() const {
    return {{.name = "f0", .table = 0, .pooling = pooling}, {.name = "f1", .table = 0, .pooling = pooling}};
  }
  Batch batch() const { return random_batch(2, rows(), weighted, seed); }
  RowValues row_values() const { return {.seed = seed, .scale = 0.5F, .unit = unit}; }
  GradientValues gradient_values() const { return {.seed = seed}; }
  Oracle oracle() const { return Oracle({table()}, features(), row_values(), gradient_values()); }
  FloatStep float_step() const { return FloatStep(table(), features(), row_values(), gradient_values(), seed + 1); }

  std::string name() const {
    return std::string(name_of(pooling)) + " " + std::string(name_of(optimizer.kind)) + (weighted ? " weighted" : "") +
           " " + std::string(name_of(value_type)) + (stochastic ? " stochastic" : "") + " from " +
           std::to_string(optimizer.initial_accumulator) + ", decay " + std::to_string(optimizer.weight_decay) +
           (optimizer.weight_decay_mode == WeightDecay::l2 ? " l2" : " decoupled") + ", seed " + std::to_string(seed);
  }
};

/// By the seed: an initial accumulator or none, no weight decay or one of both.
inline Optimizer optimizer_of(OptimizerKind kind, std::uint32_t seed) {
  return {.kind = kind,
          .learning_rate = 0.05F,
          .initial_accumulator = seed / 2 % 2 == 0 ? 0.0F : 0.1F,
          .l1 = 0.01F,
          .l2 = 0.5F,
          .beta = 0.25F,
          .weight_decay = seed % 3 == 0 ? 0.0F : 0.125F,
          .weight_decay_mode = seed % 3 == 1 ? WeightDecay::l2 : WeightDecay::decoupled};
}

template <class Visit>
void for_each_case(std::uint32_t seeds, Visit&& visit) {
  for (const auto& pooling : poolings)
    for (const auto& optimizer : optimizers)
      for (const auto& type : value_types)
        for (const bool stochastic : {false, true})
          for (const bool weighted : {false, true})
            for (std::uint32_t seed = 0; seed < seeds; ++seed) {
              if (type.value == ValueType::int8 && optimizer.value != OptimizerKind::none) continue;
              if (stochastic && (type.value == ValueType::fp32 || type.value == ValueType::int8)) continue;
              visit(Case{.pooling = pooling.value,
                         .optimizer = optimizer_of(optimizer.value, seed),
                         .weighted = weighted,
                         .seed = seed,
                         .value_type = type.value,
                         .stochastic = stochastic});
            }
}

}  // namespace shardmark::reference
