// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/dense/loss.hpp"

namespace shardmark::reference {
namespace {

TEST(LogitLoss, IsBinaryCrossEntropy) {
  EXPECT_DOUBLE_EQ(logit_loss(0.0, 0.0F), std::log(2.0));
  EXPECT_DOUBLE_EQ(logit_loss(0.0, 1.0F), std::log(2.0));
  for (const double z : {-3.0, -0.5, 0.25, 2.0}) {
    const double p = 1.0 / (1.0 + std::exp(-z));
    EXPECT_NEAR(sigmoid(z), p, 1e-15);
    EXPECT_NEAR(logit_loss(z, 1.0F), -std::log(p), 1e-14) << z;
    EXPECT_NEAR(logit_loss(z, 0.0F), -std::log(1.0 - p), 1e-14) << z;
  }
}

TEST(LogitLoss, GradientIsTheFiniteDifference) {
  constexpr double h = 1e-5;
  for (const float label : {0.0F, 1.0F})
    for (const double z : {-20.0, -3.0, -0.1, 0.0, 0.7, 5.0, 30.0})
      EXPECT_NEAR(logit_gradient(z, label), (logit_loss(z + h, label) - logit_loss(z - h, label)) / (2.0 * h), 1e-9)
          << z << " " << label;
}

TEST(LogitLoss, FarLogitsStayFinite) {
  for (const double z : {700.0, 1e4, 1e300}) {
    EXPECT_EQ(logit_loss(z, 1.0F), 0.0 + std::log1p(std::exp(-z)));
    EXPECT_EQ(logit_loss(z, 0.0F), z);
    EXPECT_EQ(logit_loss(-z, 1.0F), z);
    EXPECT_EQ(logit_gradient(z, 0.0F), 1.0);
    EXPECT_EQ(logit_gradient(-z, 1.0F), -1.0);
    EXPECT_NEAR(logit_gradient(-z, 0.0F), 0.0, 1e-300);
  }
  EXPECT_EQ(logit_loss(200.0F, 0.0F), 200.0F);
  EXPECT_EQ(logit_gradient(-200.0F, 1.0F), -1.0F);
  EXPECT_NEAR(logit_loss(-30.0F, 0.0F), 9.3576e-14, 1e-18);  // 1 + e^-30 is 1 in fp32
}

}  // namespace
}  // namespace shardmark::reference
