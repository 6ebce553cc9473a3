// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "reference/segment_sum.hpp"

namespace shardmark::reference {
namespace {

using Floats = std::vector<float>;
using Offsets = std::vector<std::int64_t>;

// 3 samples of 2, 0 and 3 slots, which hold 1, 2; none; 0, 3, 1 ids.
const NestedOffsets levels{{0, 2, 2, 5}, {0, 1, 3, 3, 6, 7}};
const Floats values{1, 10, 2, 20, 4, 40, 8, 80, 16, 160, 32, 320, 64, 640};

Floats summed(const Offsets& offsets) {
  Floats output(2 * (offsets.size() - 1), -1.0F);
  segment_sum(offsets, values, 2, output);
  return output;
}

TEST(SegmentSum, LevelsOfNestedOffsets) {
  EXPECT_EQ(segment_offsets(levels, 0), (Offsets{0, 3, 3, 7}));
  EXPECT_EQ(segment_offsets(levels, 1), (Offsets{0, 1, 3, 3, 6, 7}));
  EXPECT_EQ(segment_offsets({{0, 1, 3}, {0, 2, 2, 5}, {0, 1, 1, 4, 5, 9}}, 0), (Offsets{0, 1, 9}));
  EXPECT_THROW(segment_offsets(levels, 2), InputError);
  EXPECT_THROW(segment_offsets(levels, -1), InputError);
}

TEST(SegmentSum, OneVectorPerSampleOrPerSlot) {
  EXPECT_EQ(summed(segment_offsets(levels, 0)), (Floats{7, 70, 0, 0, 120, 1200}));
  EXPECT_EQ(summed(segment_offsets(levels, 1)), (Floats{1, 10, 6, 60, 0, 0, 56, 560, 64, 640}));
}

TEST(SegmentSum, SumsInDouble) {
  Floats output(1);
  segment_sum(Offsets{0, 3}, Floats{0x1p24F, 1.0F, 1.0F}, 1, output);
  EXPECT_EQ(output[0], 0x1p24F + 2.0F);
}

TEST(SegmentSum, BackwardGivesEachValueTheGradientOfItsSegment) {
  Floats gradients(14, -1.0F);
  segment_sum_backward(segment_offsets(levels, 0), Floats{1, 2, 3, 4, 5, 6}, 2, gradients);
  EXPECT_EQ(gradients, (Floats{1, 2, 1, 2, 1, 2, 5, 6, 5, 6, 5, 6, 5, 6}));
}

// sum_s g_s . segment_sum(x)_s = sum_i backward(g)_i . x_i
TEST(SegmentSum, BackwardIsTheTransposeOfForward) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Offsets offsets{0};
    for (int s = 0; s < 9; ++s) offsets.push_back(offsets.back() + static_cast<std::int64_t>(random() % 4));
    const auto draw = [&](std::size_t n) {
      Floats drawn(n);
      for (float& x : drawn) x = static_cast<float>(random() % 17) - 8.0F;
      return drawn;
    };
    const Floats x = draw(3 * static_cast<std::size_t>(offsets.back())), g = draw(27);
    Floats y(27), back(x.size());
    segment_sum(offsets, x, 3, y);
    segment_sum_backward(offsets, g, 3, back);
    double forward = 0.0, backward = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i) forward += static_cast<double>(g[i]) * y[i];
    for (std::size_t i = 0; i < x.size(); ++i) backward += static_cast<double>(back[i]) * x[i];
    EXPECT_EQ(forward, backward) << "seed " << seed;
  }
}

}  // namespace
}  // namespace shardmark::reference
