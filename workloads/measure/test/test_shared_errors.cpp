// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "workloads/measure/dense/expected_dense.hpp"

namespace shardmark::workloads {
namespace {

TEST(SharedErrors, SamplesAreAlikeWhoseLogitsAre) {
  EXPECT_EQ(most_alike({}), 1.0);
  EXPECT_EQ(most_alike(std::vector{0.1, 0.2, 0.3}), 1.0);
  EXPECT_EQ(most_alike(std::vector{0.1, -0.1, 0.2, 0.1, std::nextafter(0.1, 1.0), 0.2}), 3.0);
  EXPECT_EQ(most_alike(std::vector{0.1, 0.1 + 0x1p-36}), 1.0);
}

TEST(SharedErrors, AreThoseOfTheRowThatMostVectorsRead) {
  const std::vector<Feature> features{{.name = "f", .table = 0}, {.name = "g", .table = 0}};
  const Batch batch{.samples = 2, .features = 2, .offsets = {0, 2, 3, 4, 5}, .indices = {1, 2, 2, 2, 3}, .weights = {}};
  const SharedErrors shared(batch, features);
  const std::vector<std::int64_t> ids{1, 2}, others{3};
  EXPECT_EQ(shared.vectors(0, {.sample = 0, .position = 0, .ids = ids, .weights = {}}), 3.0);
  EXPECT_EQ(shared.vectors(0, {.sample = 1, .position = 0, .ids = others, .weights = {}}), 1.0);
}

}  // namespace
}  // namespace shardmark::workloads
