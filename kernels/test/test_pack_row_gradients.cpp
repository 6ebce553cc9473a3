// SPDX-License-Identifier: Apache-2.0
#include "kernels/test/update_problem.hpp"
#include "kernels/update/stored_gradients.hpp"

namespace shardmark::kernels::test {
namespace {

template <class Types>
class PackRowGradientsTest : public testing::Test {};
TYPED_TEST_SUITE(PackRowGradientsTest, IndexTypes);

/// Shards of usual and of odd dims, one without ids, one with a row of several pieces; vectors in reverse order of the
/// shards. Gradients whose sums are exact, so that every bit is known.
TYPED_TEST(PackRowGradientsTest, EachVectorIsTheSumOfTheGradientsOfItsRow) {
  using Exec = typename TypeParam::Exec;
  for (std::uint64_t seed = 60; seed < 64; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    Random random(seed);
    UpdateProblem problem{.values = {.seed = seed}};
    for (const std::int64_t dim : {4, 8, 16, 64, 128, 1, 5, 23, 100, 300}) {
      const bool hot = dim == 8;
      const auto shard = problem.add_shard(hot ? 1 : draw(random, 1, 60), dim, {});
      const auto first_bag = problem.bags.bags();
      if (dim != 5) problem.bags.add_random(random, hot ? 3000 : 10, problem.shards[at(shard)].rows, 3);
      problem.add_block(random, shard, first_bag, Pooling::sum, true, 1);
    }
    const auto expected = problem.row_gradients(false);

    std::vector<PackedRows> packed_rows;
    std::int64_t first_row = 0;
    for (const auto& shard : problem.shards) {
      packed_rows.push_back({shard.first_key, shard.dim, first_row, 0});
      first_row +=
          std::distance(expected.lower_bound(shard.first_key), expected.lower_bound(shard.first_key + shard.rows));
    }
    std::int64_t size = 0;
    for (std::size_t s = packed_rows.size(); s-- > 0;) {
      packed_rows[s].output = size;
      const std::int64_t end = s + 1 < packed_rows.size() ? packed_rows[s + 1].first_row : first_row;
      size += (end - packed_rows[s].first_row) * packed_rows[s].dim;
    }

    Update<TypeParam> update(problem);
    const Array<Exec, float> packed("packed", at(size));
    Kokkos::deep_copy(packed, 77.0F);
    pack_row_gradients(update.exec, update.gradients(problem), shard_list(update.exec, packed_rows), update.workspace,
                       packed);
    const auto got = host(packed);
    std::int64_t row = 0;
    for (const auto& [key, sums] : expected) {
      const auto shard = std::prev(std::ranges::upper_bound(packed_rows, key, {}, &PackedRows::first_key));
      const std::int64_t begin = shard->output + (row++ - shard->first_row) * shard->dim;
      for (std::size_t c = 0; c < sums.size(); ++c)
        ASSERT_EQ(got[at(begin) + c], static_cast<float>(sums[c])) << "row " << key << " column " << c;
    }
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
