// SPDX-License-Identifier: Apache-2.0
#include "kernels/route/bag_lengths.hpp"
#include "kernels/test/bags.hpp"

namespace shardmark::kernels::test {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(BagLengths, OnlyBagsThatMustHoldAnIdCanBeWithoutVector) {
  const Space exec;
  const auto lengths = array_of(exec, std::vector<std::int32_t>{2, 0, 0, 3}, "lengths");
  const Array<Space, std::int64_t> before("before", 5);
  count_vectors(exec, lengths, array_of(exec, std::vector<std::uint8_t>{1, 1, 0, 0}, "only_touched"), before);
  EXPECT_EQ(host(before), (Numbers{0, 1, 1, 2, 3}));

  const Array<Space, std::int64_t> of_vectors("offsets", 6), of_bags("offsets", 5);
  Scratch<Space, std::uint32_t> workspace("workspace");
  sum_lengths(exec, 2, lengths, before, of_vectors, workspace);
  EXPECT_EQ(host(of_vectors), (Numbers{0, 1, 2, 4, 4, 7}));
  sum_lengths(exec, 0, lengths, {}, of_bags, workspace);
  EXPECT_EQ(host(of_bags), (Numbers{0, 2, 2, 2, 5}));
}

TEST(BagLengths, BagsOfSeveralBlocksAreCountedAsOneByOne) {
  const Space exec;
  Scratch<Space, std::uint32_t> workspace("workspace");
  for (const std::int64_t bags : {1023, 1024, 1025, 5 * 1024, 5000}) {
    std::vector<std::int32_t> lengths;
    std::vector<std::uint8_t> only_touched;
    Numbers vectors{0}, offsets;
    std::int64_t ids = 0;
    for (std::int64_t b = 0; b < bags; ++b) {
      lengths.push_back(static_cast<std::int32_t>(b * 7 % 4));
      only_touched.push_back(b % 3 == 0 ? 0 : 1);
      const bool has_vector = lengths.back() > 0 || only_touched.back() == 0;
      if (has_vector) offsets.push_back(ids);
      vectors.push_back(vectors.back() + (has_vector ? 1 : 0));
      ids += lengths.back();
    }
    offsets.push_back(ids);
    const auto of_bags = array_of(exec, lengths, "lengths");
    const Array<Space, std::int64_t> before("before", vectors.size()), summed("offsets", offsets.size());
    count_vectors(exec, of_bags, array_of(exec, only_touched, "only_touched"), before);
    EXPECT_EQ(host(before), vectors) << bags;
    sum_lengths(exec, 0, of_bags, before, summed, workspace);
    EXPECT_EQ(host(summed), offsets) << bags;

    Numbers of_all{0, 1, 2, 3};
    for (const std::int32_t length : lengths) of_all.push_back(of_all.back() + length);
    const Array<Space, std::int64_t> all("offsets", of_all.size());
    sum_lengths(exec, 3, of_bags, {}, all, workspace);
    EXPECT_EQ(host(all), of_all) << bags;
  }
}

TEST(BagLengths, NumbersAreListedAndTaken) {
  const Space exec;
  const Array<Space, std::int64_t> numbers("numbers", 4), taken("taken", 2);
  count_up(exec, numbers);
  EXPECT_EQ(host(numbers), (Numbers{0, 1, 2, 3}));
  take(exec, array_of(exec, Numbers{7, 8, 9}, "values"), array_of(exec, Numbers{2, 0}, "at"), taken);
  EXPECT_EQ(host(taken), (Numbers{9, 7}));
}

}  // namespace
}  // namespace shardmark::kernels::test
