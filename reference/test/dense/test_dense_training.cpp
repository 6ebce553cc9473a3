// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "reference/counter_random.hpp"
#include "reference/dense/dense_input.hpp"
#include "reference/dense/dense_pass.hpp"
#include "reference/dense/dense_step.hpp"
#include "reference/dense/hidden_labels.hpp"
#include "reference/dense/loss.hpp"
#include "reference/pooled_lookup.hpp"

namespace shardmark::reference {
namespace {

TEST(LogTransform, ByThePublishedRule) {
  EXPECT_EQ(log_transform(0.0F), 0.0F);
  EXPECT_EQ(log_transform(std::nullopt), 0.0F);
  EXPECT_EQ(log_transform(-2.0F), 0.0F);
  EXPECT_EQ(log_transform(-1.0F), 0.0F);
  EXPECT_EQ(log_transform(-0.5F), 0.0F);
  EXPECT_EQ(log_transform(std::numeric_limits<float>::quiet_NaN()), 0.0F);
  EXPECT_FLOAT_EQ(log_transform(1.0F), 0.6931472F);
  EXPECT_FLOAT_EQ(log_transform(99.0F), 4.6051702F);
  EXPECT_FLOAT_EQ(log_transform(65'534.0F), 11.090340F);
}

TEST(DenseStep, IsThatOfTheOptimizerOnEveryElement) {
  DenseParameters<float> parameters{Matrix<float>(1, 2, {1, 2}), Matrix<float>(1, 1, {3})};
  const DenseParameters<double> gradients{Matrix<double>(1, 2, {2, -4}), Matrix<double>(1, 1, {1})};
  const Optimizer sgd{.learning_rate = 0.5F};
  auto state = initial_dense_state(sgd, parameters);
  dense_step(sgd, 1, gradients, parameters, state);
  EXPECT_EQ(parameters[0].values, (std::vector<float>{0, 4}));
  EXPECT_EQ(parameters[1].values, (std::vector<float>{2.5F}));
  // s = 5 + 4, 9 + 16 and 15 + 1
  const Optimizer adagrad{
      .kind = OptimizerKind::adagrad, .learning_rate = 1.0F, .epsilon = 0.0F, .initial_accumulator = 5.0F};
  state = initial_dense_state(adagrad, parameters);
  EXPECT_EQ(state, (DenseState<float>{{5, 5}, {5}}));
  state = {{5, 9}, {15}};
  dense_step(adagrad, 1, gradients, parameters, state);
  EXPECT_EQ(state, (DenseState<float>{{9, 25}, {16}}));
  EXPECT_EQ(parameters[0].values, (std::vector<float>{-2.0F / 3.0F, 4.8F}));
  EXPECT_EQ(parameters[1].values, (std::vector<float>{2.25F}));
  // m = g / 2, v = g^2 / 4, corrected by 1/2 and 1/4: sign(g)
  const Optimizer adam{
      .kind = OptimizerKind::adam, .learning_rate = 1.0F, .epsilon = 0.0F, .beta1 = 0.5F, .beta2 = 0.75F};
  parameters[0].values = {1, 2};
  state = initial_dense_state(adam, parameters);
  dense_step(adam, 1, gradients, parameters, state);
  EXPECT_EQ(state, (DenseState<float>{{1, -2, 1, 4}, {0.5F, 0.25F}}));
  EXPECT_EQ(parameters[0].values, (std::vector<float>{0, 3}));
}

TEST(DenseStep, RefusesOptimizersOfRows) {
  for (const auto& choice : optimizers) {
    const bool of_rows = row_sum_count(choice.value) > 0;
    if (of_rows)
      EXPECT_THROW(check_dense_optimizer({.kind = choice.value}), InputError) << choice.name;
    else
      EXPECT_NO_THROW(check_dense_optimizer({.kind = choice.value})) << choice.name;
  }
}

constexpr std::int64_t table_rows = 30, dim = 4, numericals = 2;
const std::vector<Feature> three_features{
    {.name = "a", .table = 0}, {.name = "b", .table = 1}, {.name = "c", .table = 0}};

Batch drawn_batch(std::int64_t samples, std::int64_t number, std::int64_t hotness = 1) {
  Batch batch{.samples = samples, .features = 3, .offsets = {0}, .indices = {}, .weights = {}};
  for (std::int64_t bag = 0; bag < batch.bags(); ++bag) {
    for (std::int64_t i = 0; i < hotness; ++i)
      batch.indices.push_back(static_cast<std::int64_t>(random_bits(17, number, bag, i) % table_rows));
    batch.offsets.push_back(batch.nnz());
  }
  return batch;
}

Matrix<float> drawn_numerical(std::int64_t samples, std::int64_t number) {
  Matrix<float> result(samples, numericals);
  for (std::int64_t i = 0; i < std::ssize(result.values); ++i)
    result.values[i] = static_cast<float>(100.0 * unit_interval(random_bits(19, number, i)));
  return result;
}

const HiddenLabels hidden{.seed = 23, .numerical_mean = 50.0, .numerical_deviation = 100.0 / std::sqrt(12.0)};

TEST(HiddenLabels, ScoresAreLinearInIdsAndNumericalFeatures) {
  const Matrix<float> none(1, 0);
  const auto score = [&](std::vector<std::int64_t> offsets, std::vector<std::int64_t> ids) {
    const Batch batch{
        .samples = 1, .features = 3, .offsets = std::move(offsets), .indices = std::move(ids), .weights = {}};
    return hidden.scores(three_features, batch, none).front();
  };
  const double a = score({0, 1, 1, 1}, {5}), b = score({0, 1, 1, 1}, {6}), c = score({0, 0, 1, 1}, {5});
  EXPECT_NE(a, c);                                               // other tables have other weights
  EXPECT_EQ(score({0, 0, 0, 1}, {5}), a);                        // features of a table share them
  EXPECT_DOUBLE_EQ(score({0, 2, 2, 2}, {5, 6}), 0.5 * (a + b));  // a mean over the bag
  EXPECT_DOUBLE_EQ(score({0, 1, 2, 2}, {6, 5}), b + c);          // a sum over the features
  EXPECT_EQ(score({0, 0, 0, 0}, {}), 0.0);
  const Batch empty{.samples = 3, .features = 0, .offsets = {0}, .indices = {}, .weights = {}};
  const auto scores = hidden.scores({}, empty, Matrix<float>(3, 1, {50.0F, 60.0F, 40.0F}));
  EXPECT_EQ(scores[0], 0.0);
  EXPECT_NE(scores[1], 0.0);
  EXPECT_DOUBLE_EQ(scores[1], -scores[2]);
}

TEST(HiddenLabels, FollowTheirProbabilityAndTheSampleNumber) {
  const std::vector<double> scores(20'000, 1.0);
  const auto labels = hidden.labels(scores, 0);
  double ones = 0.0;
  for (const float label : labels) ones += static_cast<double>(label);
  EXPECT_NEAR(ones / 20'000, sigmoid(1.0), 0.012) << "seed 23";
  const auto later = hidden.labels(std::vector<double>(50, 1.0), 100);
  EXPECT_EQ(later, std::vector<float>(labels.begin() + 100, labels.begin() + 150));
  EXPECT_EQ(hidden.labels(std::vector<double>{1e9, -1e9}, 7), (std::vector<float>{1, 0}));
}

TEST(HiddenLabels, AreHalfOnesAndOrderedByTheirScores) {
  const Batch batch = drawn_batch(5000, 1, 2);
  const auto scores = hidden.scores(three_features, batch, drawn_numerical(5000, 1));
  const auto labels = hidden.labels(scores, 0);
  double ones = 0.0, squares = 0.0;
  for (std::size_t s = 0; s < labels.size(); ++s) {
    ones += static_cast<double>(labels[s]);
    squares += scores[s] * scores[s];
  }
  EXPECT_NEAR(ones / 5000, 0.5, 0.15) << "seed 23";
  EXPECT_NEAR(std::sqrt(squares / 5000), 0.8 * hidden.strength, 0.3 * hidden.strength) << "seed 23";
  EXPECT_GT(area_under_curve(std::vector<float>(scores.begin(), scores.end()), labels), 0.85) << "seed 23";
}

/// Tables, model and labels: plain training by SGD.
class Training {
 public:
  Training(DenseSpec spec, const Optimizer& optimizer) : spec_(std::move(spec)), optimizer_(optimizer) {
    for (std::int64_t t = 0; t < 2; ++t)
      for (std::int64_t i = 0; i < table_rows * dim; ++i)
        tables_[t].push_back(static_cast<float>(0.2 * unit_interval(random_bits(29, t, i)) - 0.1));
  }

  /// Loss and AUC of batch `number`; trains on it unless it is only looked at.
  std::pair<double, double> see(std::int64_t number, bool tt) {
    const std::int64_t samples = 64;
    const Batch batch = drawn_batch(samples, number);
    DenseInput<double> input{{}, Matrix<double>(samples, numericals), {}};
    const auto numerical = drawn_numerical(samples, number);
    input.labels = hidden.labels(hidden.scores(three_features, batch, numerical), samples * number);
    for (std::size_t i = 0; i < numerical.values.size(); ++i)
      input.numerical.values[i] = static_cast<double>(numerical.values[i]) / 50.0 - 1.0;
    for (const Feature& feature : three_features) input.vectors.push_back(looked_up(feature, batch));
    const auto result = dense_pass(spec_, converted<double>(parameters_), input, samples);
    if (tt) step(batch, result);
    const auto logits = converted<float>(result.logits);
    return {result.loss, *area_under_curve(logits.values, input.labels)};
  }

 private:
  auto row_of(std::int64_t table) {
    return [this, table](std::int64_t id) { return std::span(tables_[table]).subspan(id * dim, dim); };
  }
  Matrix<double> looked_up(const Feature& feature, const Batch& batch) {
    const std::int64_t f = &feature - three_features.data();
    Matrix<float> output(batch.samples, dim);
    pooled_lookup(feature.pooling, row_of(feature.table),
                  std::span(batch.offsets).subspan(f * batch.samples, batch.samples + 1), batch.indices, {}, dim,
                  output.values);
    return converted<double>(output);
  }
  void step(const Batch& batch, const DenseResult<double>& result) {
    for (std::int64_t f = 0; f < 3; ++f)
      for (std::int64_t s = 0; s < batch.samples; ++s)
        for (std::int64_t c = 0; c < dim; ++c)
          row_of(three_features[f].table)(batch.indices[f * batch.samples + s])[c] -=
              static_cast<float>(2.0 * result.vector_gradients[f].at(s, c));
    dense_step(optimizer_, ++steps_, result.parameter_gradients, parameters_, state_);
  }

  DenseSpec spec_;
  Optimizer optimizer_;
  std::array<std::vector<float>, 2> tables_;
  DenseParameters<float> parameters_ = initial_dense(spec_, 31);
  DenseState<float> state_ = initial_dense_state(optimizer_, parameters_);
  std::int64_t steps_ = 0;
};

TEST(DenseTraining, LossFallsAndAucRises) {
  const std::vector<Optimizer> three{{.learning_rate = 0.2F},
                                     {.kind = OptimizerKind::adagrad, .learning_rate = 0.05F},
                                     {.kind = OptimizerKind::adam, .learning_rate = 0.01F}};
  for (const DenseKind kind : {DenseKind::mlp, DenseKind::dlrm, DenseKind::dcnv2})
    for (const Optimizer& optimizer : three) {
      Training training({.kind = kind,
                         .widths = {dim, dim, dim},
                         .numerical_features = numericals,
                         .bottom_mlp = {8, dim},
                         .top_mlp = {16, 1},
                         .cross_layers = 2,
                         .cross_rank = 4},
                        optimizer);
      const auto looked_at = [&] {
        std::pair<double, double> mean;
        for (std::int64_t number = 10'000; number < 10'010; ++number) {
          const auto [loss, area] = training.see(number, false);
          mean.first += loss / 10.0;
          mean.second += area / 10.0;
        }
        return mean;
      };
      const auto [loss_before, area_before] = looked_at();
      for (std::int64_t number = 0; number < 200; ++number) training.see(number, true);
      const auto [loss_after, area_after] = looked_at();
      SCOPED_TRACE(std::string(name_of(kind)) + " " + std::string(name_of(optimizer.kind)));
      EXPECT_LT(loss_after, 0.75 * loss_before);
      EXPECT_LT(area_before, 0.7);
      EXPECT_GT(area_after, 0.8);
    }
}

}  // namespace
}  // namespace shardmark::reference
