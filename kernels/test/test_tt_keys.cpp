// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "kernels/tensor_train/tt_keys.hpp"
#include "kernels/test/bags.hpp"

namespace shardmark::kernels {
namespace {

using test::Space;
using Numbers = std::vector<std::int64_t>;

Array<Space, std::int64_t> on_device_of(const Numbers& values) { return array_of(Space(), values, "values"); }

const TensorTrainShape shape{.cores = 3, .p = {4, 3, 5}, .q = {1, 2, 2}, .r = {1, 2, 2, 1}};

TEST(TtKeys, MirroredRowsHaveTheirDigitsReversedAndComeBack) {
  for (const bool mirrored : {false, true}) {
    const TtKeys keys{shape, mirrored, 100};
    for (std::int64_t row = 0; row < shape.rows(); ++row) {
      const auto digits = shape.digits(row);
      const std::int64_t reversed = (digits[2] * 3 + digits[1]) * 4 + digits[0];
      EXPECT_EQ(keys(row), 100 + (mirrored ? reversed : row));
      EXPECT_EQ(keys.row(keys(row)), row);
    }
  }
}

/// Bags of three tt tables between bags of other tables, more ids than a chunk holds, and empty blocks.
TEST(TtKeys, IdsOfTheirBlocksAreListedWithTheirPositions) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Numbers offsets{0}, ids, keys, positions;
    std::vector<TtBags> blocks;
    for (std::int64_t bag = 0; bag < 40;) {
      const auto bags = static_cast<std::int64_t>(random() % 5);
      const TtKeys tt{shape, random() % 2 == 0, static_cast<std::int64_t>(random() % 3) * shape.rows()};
      const bool is_tt = random() % 2 == 0;
      if (is_tt) blocks.push_back({bag, bags, tt});
      for (std::int64_t end = bag + bags; bag < end; ++bag) {
        for (auto more = random() % 60; more > 0; --more) {
          ids.push_back(static_cast<std::int64_t>(random() % shape.rows()));
          if (!is_tt) continue;
          keys.push_back(tt(ids.back()));
          positions.push_back(std::ssize(ids) - 1);
        }
        offsets.push_back(std::ssize(ids));
      }
    }
    const Space exec;
    const auto on_device_blocks = array_of(exec, blocks, "blocks");
    const Array<Space, std::int64_t> before("before", blocks.size() + 1);
    count_tt_ids<Space>(exec, on_device_blocks, on_device_of(offsets), before);
    ASSERT_EQ(test::host(before).back(), std::ssize(keys));
    const Array<Space, std::int64_t> found("keys", keys.size()), at("positions", keys.size());
    list_tt_ids<Space>(exec, on_device_blocks, on_device_of(offsets), before, on_device_of(ids), found, at);
    EXPECT_EQ(test::host(found), keys);
    EXPECT_EQ(test::host(at), positions);
  }
}

/// Two tt tables, the second mirrored, behind rows of another table.
TEST(TtKeys, DistinctRowsAreListedWithTheirVectorsAndMarkTheirSlices) {
  const Numbers rows{0, 7, 59, 3, 3, 40};
  Numbers keys{1, 2, 9};
  for (std::size_t i = 0; i < rows.size(); ++i) keys.push_back((i < 3 ? 10 : 100) + rows[i]);
  const Space exec;
  UniqueRowsWorkspace<Space> workspace;
  const auto unique = unique_rows<Space>(exec, on_device_of(keys), 200, workspace);
  const std::vector<TtRows> tts{{3, 3, 10, 0, 0, 4, {shape, false, 0}}, {6, 2, 100, 3, 12, 8, {shape, true, 60}}};
  const auto on_device_tts = array_of(exec, tts, "trains");
  const Array<Space, std::int64_t> found("keys", 5), vectors("vectors", 5);
  list_tt_rows<Space>(exec, unique, on_device_tts, found, vectors);
  const TtKeys second{shape, true, 60};
  EXPECT_EQ(test::host(found), (Numbers{0, 7, 59, second(3), second(40)}));
  EXPECT_EQ(test::host(vectors), (Numbers{0, 4, 8, 12, 20}));

  const Array<Space, std::int32_t> touched("touched", 24);
  mark_tt_slices<Space>(exec, unique, on_device_tts, on_device_of({0, 12}), touched);
  std::vector<std::int32_t> expected(24);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto digits = shape.digits(rows[i]);
    const std::size_t first = i < 3 ? 0 : 12;
    for (const std::int64_t slice : {digits[0], 4 + digits[1], 7 + digits[2]}) expected[first + slice] = 1;
  }
  EXPECT_EQ(test::host(touched), expected);
}

}  // namespace
}  // namespace shardmark::kernels
