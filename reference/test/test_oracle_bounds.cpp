// SPDX-License-Identifier: Apache-2.0
// Whatever order and fusing an fp32 program chooses, it stays inside the bounds of the oracle; a wrong one does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "reference/test/oracle_case.hpp"

namespace shardmark::reference {
namespace {

constexpr std::int64_t steps = 4;

struct Verdict {
  std::int64_t different = 0;  ///< values that are not equal
  std::int64_t wrong = 0;      ///< values that differ by more than their bound

  void compare(std::span<const float> values, std::span<const float> expected, std::span<const float> bounds) {
    if (values.size() != expected.size()) ++wrong;
    for (std::size_t i = 0; i < std::min(values.size(), expected.size()); ++i) {
      const double difference = std::abs(static_cast<double>(values[i]) - expected[i]);
      if (difference != 0.0) ++different;
      if (!(difference <= bounds[i])) ++wrong;
    }
  }
};

Verdict compare_outputs(Oracle& oracle, FloatStep& other, const Batch& batch, const Batch& batch_of_other) {
  Verdict verdict;
  for (std::int64_t f = 0; f < batch.features; ++f) {
    const Expected expected = oracle.lookup(batch, f, 0, batch.samples);
    verdict.compare(other.lookup(batch_of_other, f), expected.values, expected.bounds);
  }
  return verdict;
}

Verdict compare_rows(const Oracle& oracle, FloatStep& other) {
  Verdict verdict;
  const TouchedTable& table = oracle.table(0);
  for (std::int64_t slot = 0; slot < std::ssize(table.rows()); ++slot) {
    const auto& row = other.row(table.rows()[slot]);
    verdict.compare(row.values, table.values(slot), table.value_bounds(slot));
    verdict.compare(row.state, table.state(slot), table.state_bounds(slot));
  }
  return verdict;
}

TEST(OracleBounds, HoldForAnyOrderAndFusing) {
  std::int64_t different = 0;
  for_each_case(8, [&](const Case& run) {
    SCOPED_TRACE(run.name());
    Oracle oracle = run.oracle();
    FloatStep other = run.float_step();
    const Batch batch = run.batch();
    for (std::int64_t step = 0; step < steps; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      const Verdict outputs = compare_outputs(oracle, other, batch, batch);
      EXPECT_EQ(outputs.wrong, 0);
      oracle.update(batch, step);
      other.update(batch, step);
      const Verdict rows = compare_rows(oracle, other);
      EXPECT_EQ(rows.wrong, 0);
      different += outputs.different + rows.different;
    }
  });
  EXPECT_GT(different, 10000);  // so the orders did differ
}

TEST(OracleBounds, ExactTablesAreEqualInAnyOrder) {
  for (const Pooling pooling : {Pooling::none, Pooling::sum}) {
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
      const Case run{.pooling = pooling,
                     .optimizer = {.kind = OptimizerKind::sgd, .learning_rate = 0x1p-6F},
                     .weighted = false,
                     .seed = seed,
                     .unit = 0x1p-7F};
      SCOPED_TRACE(run.name());
      Oracle oracle = run.oracle();
      ASSERT_TRUE(oracle.bit_exact(0));
      FloatStep other = run.float_step();
      const Batch batch = run.batch();
      for (std::int64_t step = 0; step < steps; ++step) {
        EXPECT_EQ(compare_outputs(oracle, other, batch, batch).different, 0);
        oracle.update(batch, step);
        other.update(batch, step);
        EXPECT_EQ(compare_rows(oracle, other).different, 0);
      }
    }
  }
}

/// Bag number of the longest bag.
std::size_t longest_bag(const Batch& batch) {
  std::size_t longest = 0;
  const auto length = [&](std::size_t bag) { return batch.offsets[bag + 1] - batch.offsets[bag]; };
  for (std::size_t bag = 0; bag < static_cast<std::size_t>(batch.bags()); ++bag)
    if (length(bag) > length(longest)) longest = bag;
  return longest;
}

Batch without_one_id(Batch batch) {
  const std::size_t bag = longest_bag(batch);
  batch.indices.erase(batch.indices.begin() + batch.offsets[bag]);
  if (!batch.weights.empty()) batch.weights.erase(batch.weights.begin() + batch.offsets[bag]);
  for (std::size_t b = bag + 1; b < batch.offsets.size(); ++b) --batch.offsets[b];
  return batch;
}

Batch with_another_id(Batch batch, std::int64_t rows) {
  auto& id = batch.indices[batch.offsets[longest_bag(batch)]];
  id = (id + 1) % rows;
  return batch;
}

/// The first two different ids of the longest bag exchange their weights.
Batch with_swapped_weights(Batch batch) {
  const auto first = static_cast<std::size_t>(batch.offsets[longest_bag(batch)]);
  auto second = first + 1;
  while (batch.indices[second] == batch.indices[first]) ++second;
  std::swap(batch.weights[first], batch.weights[second]);
  return batch;
}

std::vector<Batch> damaged(const Case& run) {
  std::vector<Batch> batches{without_one_id(run.batch()), with_another_id(run.batch(), run.rows())};
  if (run.weighted) batches.push_back(with_swapped_weights(run.batch()));
  return batches;
}

/// What is found wrong of faulty cases: something in every case of fp32, and in narrower types, which may round a small
/// fault away, something in the cases of all seeds together.
class Findings {
 public:
  void add(const Case& run, std::string_view fault, std::int64_t wrong) {
    if (run.value_type == ValueType::fp32) {
      EXPECT_GT(wrong, 0) << fault << ": " << run.name();
      return;
    }
    found_[std::string(fault) + ": " + std::string(name_of(run.pooling)) + " " +
           std::string(name_of(run.optimizer.kind)) + " " + std::string(name_of(run.value_type))] += wrong;
  }
  ~Findings() {
    for (const auto& [name, wrong] : found_) EXPECT_GT(wrong, 0) << name;
  }

 private:
  std::map<std::string, std::int64_t> found_;
};

// A maximum need not depend on every id.
TEST(OracleBounds, OneWrongIdOrWeightInALookupIsOutside) {
  for_each_case(6, [&](const Case& run) {
    if (run.pooling == Pooling::max) return;
    for (const Batch& batch : damaged(run)) {
      SCOPED_TRACE(run.name());
      Oracle oracle = run.oracle();
      FloatStep other = run.float_step();
      EXPECT_GT(compare_outputs(oracle, other, run.batch(), batch).wrong, 0);
    }
  });
}

TEST(OracleBounds, OneWrongIdOrWeightInAnUpdateIsOutside) {
  Findings findings;
  for_each_case(6, [&](const Case& run) {
    if (run.pooling == Pooling::max || run.optimizer.kind == OptimizerKind::none) return;
    for (const Batch& batch : damaged(run)) {
      Oracle oracle = run.oracle();
      FloatStep other = run.float_step();
      oracle.update(run.batch(), 0);
      other.update(batch, 0);
      findings.add(run, "batch", compare_rows(oracle, other).wrong);
    }
  });
}

/// One factor of the formula that is off by 1 %.
struct Fault {
  std::string_view name;
  float Optimizer::*factor;
  std::vector<OptimizerKind> kinds;  ///< that have it
};

const std::vector<Fault>& faults() {
  using enum OptimizerKind;
  static const std::vector<Fault> all{
      {"learning_rate",
       &Optimizer::learning_rate,
       {sgd, momentum, nesterov, adagrad, rowwise_adagrad, rmsprop, adam, rowwise_adam, ftrl, lamb}},
      {"weight_decay",
       &Optimizer::weight_decay,
       {sgd, momentum, nesterov, adagrad, rowwise_adagrad, rmsprop, adam, rowwise_adam, ftrl, lamb}},
      {"momentum", &Optimizer::momentum, {momentum, nesterov}},
      {"decay", &Optimizer::decay, {rmsprop}},
      {"beta1", &Optimizer::beta1, {adam, rowwise_adam, lamb}},
      {"beta2", &Optimizer::beta2, {adam, rowwise_adam, lamb}},
      {"l1", &Optimizer::l1, {ftrl}},
      {"l2", &Optimizer::l2, {ftrl}},
      {"beta", &Optimizer::beta, {ftrl}}};
  return all;
}

std::int64_t wrong_rows_with(const Case& run, float Optimizer::*factor, float times) {
  Case faulty = run;
  faulty.optimizer.*factor *= times;
  Oracle oracle = run.oracle();
  FloatStep other = faulty.float_step();
  const Batch batch = run.batch();
  for (std::int64_t step = 0; step < steps; ++step) {
    oracle.update(batch, step);
    other.update(batch, step);
  }
  return compare_rows(oracle, other).wrong;
}

TEST(OracleBounds, AFactorOffByOnePercentIsOutside) {
  Findings findings;
  for (const Fault& fault : faults())
    for_each_case(3, [&](const Case& run) {
      if (std::ranges::find(fault.kinds, run.optimizer.kind) == fault.kinds.end()) return;
      if (run.optimizer.*fault.factor != 0.0F) findings.add(run, fault.name, wrong_rows_with(run, fault.factor, 0.99F));
    });
}

TEST(OracleBounds, ALearningRateOffByOneTenThousandthIsOutsideInFp32) {
  for_each_case(6, [&](const Case& run) {
    if (run.value_type != ValueType::fp32 || run.optimizer.kind == OptimizerKind::none) return;
    EXPECT_GT(wrong_rows_with(run, &Optimizer::learning_rate, 0.9999F), 0) << run.name();
  });
}

}  // namespace
}  // namespace shardmark::reference
