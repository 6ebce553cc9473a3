// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <map>

#include "kernels/lookup/stored_rows.hpp"
#include "kernels/route/expand_positions.hpp"
#include "kernels/test/bags.hpp"
#include "kernels/update/fused_update.hpp"
#include "reference/optimizer_step.hpp"
#include "reference/row_values.hpp"

namespace shardmark::kernels::test {

/// Shards of a rank, the bags it received and the gradients that came home for them.
struct UpdateProblem {
  struct Shard {
    std::int64_t rows, dim, first_key;
    Optimizer optimizer;
    ValueType value_type = ValueType::fp32;
    bool stochastic = false;
  };

  RowValues values{};
  HostBags bags{};
  std::vector<Shard> shards{};
  std::vector<GradientBlock> blocks{};
  std::vector<float> gradients{};
  std::int64_t keys = 0;

  std::int64_t add_shard(std::int64_t rows, std::int64_t dim, const Optimizer& optimizer,
                         ValueType value_type = ValueType::fp32, bool stochastic = false) {
    shards.push_back({rows, dim, keys, optimizer, value_type, stochastic});
    keys += rows;
    return std::ssize(shards) - 1;
  }

  /// Bags [first_bag, bags()) of one shard, their gradients `gap` elements apart. Exact: multiples of 2^-6.
  void add_block(Random& random, std::int64_t shard, std::int64_t first_bag, Pooling pooling, bool exact,
                 std::int64_t gap) {
    const std::int64_t dim = shards[at(shard)].dim;
    const std::int64_t count = bags.bags() - first_bag;
    const std::int64_t ids = bags.offsets.back() - bags.offsets[at(first_bag)];
    blocks.push_back({first_bag, count, shards[at(shard)].first_key, std::ssize(gradients), dim + gap, pooling});
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < (pooling == Pooling::none ? ids : count) * (dim + gap); ++i)
      gradients.push_back(exact ? 0x1p-6F * static_cast<float>(draw(random, -4, 4)) : normal(random));
  }

  /// sum of w g (or of |w g|) by key, in double.
  std::map<std::int64_t, std::vector<double>> row_gradients(bool magnitudes) const {
    std::map<std::int64_t, std::vector<double>> sums;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const auto& block = blocks[b];
      for (std::int64_t bag = block.first_bag; bag < block.first_bag + block.bags; ++bag)
        for (auto i = bags.offsets[at(bag)]; i < bags.offsets[at(bag + 1)]; ++i) {
          const std::int64_t key = block.first_key + bags.indices[at(i)];
          const auto& shard = shard_of(key);
          const auto vector =
              block.pooling == Pooling::none ? i - bags.offsets[at(block.first_bag)] : bag - block.first_bag;
          auto& sum = sums.try_emplace(key, at(shard.dim)).first->second;
          for (std::int64_t d = 0; d < shard.dim; ++d) {
            const double term = (bags.weights.empty() ? 1.0 : bags.weights[at(i)]) *
                                static_cast<double>(gradients[at(block.gradient + vector * block.gradient_stride + d)]);
            sum[at(d)] += magnitudes ? std::abs(term) : term;
          }
        }
    }
    return sums;
  }

  const Shard& shard_of(std::int64_t key) const {
    for (const auto& shard : shards)
      if (key >= shard.first_key && key < shard.first_key + shard.rows) return shard;
    throw std::logic_error("no shard");
  }
};

/// State of the shards of a problem on Exec, and one step after another.
template <class Types>
struct Update {
  using Exec = typename Types::Exec;
  using Index = typename Types::Index;

  Exec exec;
  std::vector<Array<Exec, std::uint32_t>> rows;  ///< bytes of the values
  std::vector<Array<Exec, float>> state;
  std::vector<UpdateShard> shards;
  UniqueRowsWorkspace<Exec> sort_workspace;
  RowGradientsWorkspace<Exec> workspace;
  UpdateStep step{.number = 0, .seed = 77};

  explicit Update(const UpdateProblem& problem, const Exec& on = {}) : exec(on) {
    for (std::size_t s = 0; s < problem.shards.size(); ++s) {
      const auto& shard = problem.shards[s];
      std::vector<float> values, numbers;
      for (std::int64_t r = 0; r < shard.rows; ++r) {
        for (std::int64_t c = 0; c < shard.dim; ++c) values.push_back(problem.values(std::ssize(rows), r, c));
        for (std::int64_t i = 0; i < state_per_row(shard.optimizer.kind, shard.dim); ++i)
          numbers.push_back(initial_state(shard.optimizer, shard.dim, i));
      }
      rows.emplace_back();
      state.push_back(array_of(exec, numbers, "state"));
      shards.push_back({.state = state.back().data(),
                        .first_key = shard.first_key,
                        .dim = shard.dim,
                        .full_dim = shard.dim,
                        .optimizer = shard.optimizer,
                        .value_type = shard.value_type,
                        .stochastic_rounding = shard.stochastic,
                        .table = static_cast<std::int64_t>(s)});
      set_values(s, values);
    }
  }

  void set_values(std::size_t s, const std::vector<float>& values) {
    std::vector<std::uint32_t> words(values.size());
    const auto store = [&]<class Value>(Value) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const Value value = rounded_to<Value>(values[i]);
        std::memcpy(reinterpret_cast<char*>(words.data()) + i * sizeof(Value), &value, sizeof(Value));
      }
    };
    with_trained_value(shards[s].value_type, store);
    rows[s] = array_of(exec, words, "rows");
    shards[s].rows = rows[s].data();
  }

  std::vector<float> values(std::size_t s) const {
    const auto words = host(rows[s]);
    std::vector<float> all(words.size());
    const auto load = [&]<class Value>(Value) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        Value value;
        std::memcpy(&value, reinterpret_cast<const char*>(words.data()) + i * sizeof(Value), sizeof(Value));
        all[i] = to_float(value);
      }
    };
    with_trained_value(shards[s].value_type, load);
    return all;
  }

  auto list() const { return shard_list(exec, shards); }

  auto gradients(const UpdateProblem& problem) {
    const Array<Exec, std::int64_t> keys("keys", problem.bags.indices.size());
    const Array<Exec, std::int64_t> offset("gradient_offset", problem.bags.indices.size());
    expand_positions(exec, array_of(exec, problem.blocks, "blocks"), array_of(exec, problem.bags.offsets, "offsets"),
                     array_of(exec, converted<Index>(problem.bags.indices), "indices"), keys, offset);
    return sorted_row_gradients<Exec>(exec, keys, problem.keys, offset, array_of(exec, problem.bags.weights, "weights"),
                                      array_of(exec, problem.gradients, "gradients"), sort_workspace);
  }

  void run(const UpdateProblem& problem) {
    ++step.number;
    fused_update(exec, gradients(problem), list(), step, workspace);
  }

  std::vector<std::vector<float>> row_bits() const {
    std::vector<std::vector<float>> all;
    for (std::size_t s = 0; s < rows.size(); ++s) all.push_back(values(s));
    return all;
  }
  std::vector<std::vector<float>> state_bits() const {
    std::vector<std::vector<float>> all;
    for (const auto& shard_state : state) all.push_back(host(shard_state));
    return all;
  }
};

/// All optimizers with all weight decays, as `number` counts up.
inline Optimizer any_optimizer(std::size_t number) {
  Optimizer optimizer{.kind = optimizers[number % optimizers.size()].value,
                      .learning_rate = 0.0625F,
                      .initial_accumulator = 0.125F,
                      .momentum = 0.75F,
                      .l1 = 0.01F,
                      .l2 = 0.1F,
                      .beta = 0.5F};
  const std::size_t decay = number / optimizers.size() % 3;
  if (decay > 0) optimizer.weight_decay = 0.0078125F;
  if (decay == 2) optimizer.weight_decay_mode = WeightDecay::decoupled;
  return optimizer;
}

}  // namespace shardmark::kernels::test
