// SPDX-License-Identifier: Apache-2.0
#include "kernels/lookup/segment_sum.hpp"
#include "kernels/test/host_table.hpp"
#include "reference/segment_sum.hpp"

namespace shardmark::kernels::test {
namespace {

template <class Types>
class SegmentSumTest : public testing::Test {
 public:
  using Exec = typename Types::Exec;
  Exec exec;

  /// Offsets of `level` by the kernel.
  ConstArray<Exec, std::int64_t> offsets(const reference::NestedOffsets& levels, std::int64_t level) {
    std::vector<ConstArray<Exec, std::int64_t>> arrays;
    for (const auto& offsets_of_level : levels) arrays.push_back(array_of(exec, offsets_of_level, "level"));
    return segment_offsets<Exec>(exec, arrays, level, scratch_);
  }

  std::vector<float> sum(ConstArray<Exec, std::int64_t> offsets, const std::vector<float>& values, std::int64_t dim) {
    const Array<Exec, float> output("output", (offsets.extent(0) - 1) * at(dim));
    segment_sum<Exec>(exec, offsets, array_of(exec, values, "values"), dim, output);
    return host(output);
  }

  std::vector<float> backward(ConstArray<Exec, std::int64_t> offsets, const std::vector<float>& gradients,
                              std::int64_t dim, std::size_t values) {
    const Array<Exec, float> output("output", values);
    segment_sum_backward<Exec>(exec, offsets, array_of(exec, gradients, "gradients"), dim, output);
    return host(output);
  }

 private:
  Scratch<Exec, std::int64_t> scratch_{"offsets"};
};
TYPED_TEST_SUITE(SegmentSumTest, IndexTypes);

/// Ragged offsets of `levels` levels, empty segments among them.
reference::NestedOffsets random_offsets(Random& random, std::int64_t levels, std::int64_t samples) {
  reference::NestedOffsets nested;
  std::int64_t segments = samples;
  for (std::int64_t level = 0; level < levels; ++level) {
    nested.push_back({0});
    for (std::int64_t s = 0; s < segments; ++s) nested.back().push_back(nested.back().back() + draw(random, 0, 5));
    segments = nested.back().back();
  }
  return nested;
}

TYPED_TEST(SegmentSumTest, SumsTheSegmentsOfTheChosenLevel) {
  // two samples: slots {a, b} with ids {1, 2}, {} and slot {c} with id {3}
  const reference::NestedOffsets levels{{0, 2, 3}, {0, 2, 2, 3}};
  const std::vector<float> values{1, 10, 2, 20, 3, 30};
  EXPECT_EQ(this->sum(this->offsets(levels, 0), values, 2), (std::vector<float>{3, 30, 3, 30}));
  EXPECT_EQ(this->sum(this->offsets(levels, 1), values, 2), (std::vector<float>{3, 30, 0, 0, 3, 30}));
  EXPECT_EQ(this->backward(this->offsets(levels, 0), {5, 6, 7, 8}, 2, 6), (std::vector<float>{5, 6, 5, 6, 7, 8}));
  EXPECT_THROW(this->offsets(levels, 2), InputError);
}

TYPED_TEST(SegmentSumTest, EqualsTheReferenceOnEveryLevelAndDim) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const std::int64_t dim : {1, 8, 16, 40, 64, 256}) {
      SCOPED_TRACE(seed_line(seed) + ", dim " + std::to_string(dim));
      Random random(seed);
      const auto levels = random_offsets(random, 3, seed == 4 ? 400 : 30);
      std::vector<float> values(at(levels.back().back() * dim));
      for (auto& value : values) value = 0x1p-6F * static_cast<float>(draw(random, -64, 64));
      for (std::int64_t level = 0; level < 3; ++level) {
        const auto expected_offsets = reference::segment_offsets(levels, level);
        const auto offsets = this->offsets(levels, level);
        EXPECT_EQ(host(offsets), expected_offsets);
        std::vector<float> expected((expected_offsets.size() - 1) * at(dim));
        reference::segment_sum(expected_offsets, values, dim, expected);
        EXPECT_EQ(this->sum(offsets, values, dim), expected);
        std::vector<float> expected_gradients(values.size());
        reference::segment_sum_backward(expected_offsets, expected, dim, expected_gradients);
        EXPECT_EQ(this->backward(offsets, expected, dim, values.size()), expected_gradients);
      }
    }
}

}  // namespace
}  // namespace shardmark::kernels::test
