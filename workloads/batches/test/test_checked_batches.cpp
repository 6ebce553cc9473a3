// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "reference/tensor_train/shape.hpp"
#include "workloads/batches/batch_source.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {
namespace {

using kernels::BoundsCheck;

class OneBatch : public BatchSource {
 public:
  explicit OneBatch(Batch batch) : batch_(std::move(batch)) {}
  datasets::Samples read(std::int64_t, std::int64_t, std::int64_t) override { return {batch_, {}, {}}; }
  std::optional<std::int64_t> samples() const override { return std::nullopt; }

 private:
  Batch batch_;
};

struct Outcome {
  Batch batch;
  std::vector<std::string> notices;
  std::string error;
};

Outcome outcome_of(const Batch& batch, BoundsCheck mode) {
  Outcome outcome;
  const auto source = checked(std::make_unique<OneBatch>(batch), mode, {5, 9},
                              [&](const std::string& text) { outcome.notices.push_back(text); });
  try {
    outcome.batch = source->read(3, 0, 2).batch;
    outcome.batch = source->read(3, 0, 2).batch;
  } catch (const InputError& error) {
    outcome.error = error.what();
  }
  return outcome;
}

const Batch sound{.samples = 2, .features = 2, .offsets = {0, 1, 1, 2, 4}, .indices = {4, 8, 0, 1}, .weights = {}};

Batch broken() {
  Batch batch = sound;
  batch.indices[2] = 9;
  batch.weights = {1, 2, 3, NAN};
  return batch;
}

TEST(CheckedBatches, SoundBatchesPassUnchanged) {
  for (const auto& mode : kernels::bounds_checks) {
    const Outcome outcome = outcome_of(sound, mode.value);
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.batch.indices, sound.indices);
    EXPECT_TRUE(outcome.notices.empty());
  }
}

TEST(CheckedBatches, OnStopsAtTheFirstFaultAndNamesIt) {
  EXPECT_EQ(outcome_of(broken(), BoundsCheck::on).error,
            "batch: id 9 of feature 1, sample 1 is outside its table of 9 rows");
}

/// The factors of a tensor train may have a larger product than its table has rows.
TEST(CheckedBatches, PaddedRowsOfATensorTrainAreOutsideItsTable) {
  Table tt{.name = "t", .rows = 9, .dim = 4, .storage = Storage::tt};
  tt.tensor_train = {.cores = 2, .row_shape = {3, 4}, .dim_shape = {2, 2}, .ranks = {2}};
  ASSERT_GT(tensor_train_shape(tt).rows(), tt.rows);
  Workload workload;
  workload.tables = {{.name = "d", .rows = 5, .dim = 4}, tt};
  workload.features = {{.name = "f", .table = 0}, {.name = "g", .table = 1}};
  const auto source = checked(std::make_unique<OneBatch>(broken()), BoundsCheck::on, keys_of_features(workload),
                              [](const std::string&) {});
  EXPECT_THROW(source->read(0, 0, 2), InputError);
}

TEST(CheckedBatches, WarnTellsOncePerBatchAndMendsTheIds) {
  const Outcome outcome = outcome_of(broken(), BoundsCheck::warn);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.notices,
            std::vector<std::string>{"batch 3: 1 ids replaced by row 0 and 1 weights that are not finite; the first: "
                                     "batch: id 9 of feature 1, sample 1 is outside its table of 9 rows"});
  EXPECT_EQ(outcome.batch.indices, (std::vector<std::int64_t>{4, 8, 0, 1}));
}

TEST(CheckedBatches, BrokenOffsetsAreRefusedByOnAndWarn) {
  for (const BoundsCheck mode : {BoundsCheck::on, BoundsCheck::warn}) {
    Batch batch = sound;
    batch.offsets[1] = 3;
    EXPECT_EQ(outcome_of(batch, mode).error, "batch: offsets decrease at feature 0, sample 1: 3 then 1");
    batch.offsets.pop_back();
    EXPECT_NE(outcome_of(batch, mode).error.find("4 offsets"), std::string::npos);
  }
}

TEST(CheckedBatches, OffTrustsTheBatch) { EXPECT_EQ(outcome_of(broken(), BoundsCheck::off).batch.indices[2], 9); }

}  // namespace
}  // namespace shardmark::workloads
