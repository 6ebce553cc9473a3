// SPDX-License-Identifier: Apache-2.0
#include "kernels/test/update_problem.hpp"
#include "kernels/update/row_sums.hpp"

namespace shardmark::kernels::test {
namespace {

/// Two steps of a table of 24 columns, whole and in two parts of 16 and 8 that complete their row sums.
template <class Types>
void expect_parts_equal_whole(const Optimizer& optimizer) {
  using Exec = typename Types::Exec;
  SCOPED_TRACE(std::string(name_of(optimizer.kind)));
  Random random(50);
  UpdateProblem whole{.values = {.seed = 50}};
  whole.add_shard(20, 24, optimizer);
  whole.bags.add_random(random, 60, 20, 4);
  whole.add_block(random, 0, 0, Pooling::sum, false, 0);

  std::array<UpdateProblem, 2> parts;
  const std::array<std::int64_t, 2> begin{0, 16}, dims{16, 8};
  std::vector<Update<Types>> updates;
  for (std::size_t half = 0; half < 2; ++half) {
    auto& part = parts[half];
    part.bags = whole.bags;
    part.add_shard(20, dims[half], optimizer);
    part.blocks = {{0, 60, 0, 0, dims[half], Pooling::sum}};
    std::vector<float> values;
    for (std::int64_t bag = 0; bag < 60; ++bag)
      for (std::int64_t c = begin[half]; c < begin[half] + dims[half]; ++c)
        part.gradients.push_back(whole.gradients[at(bag * 24 + c)]);
    for (std::int64_t row = 0; row < 20; ++row)
      for (std::int64_t c = begin[half]; c < begin[half] + dims[half]; ++c) values.push_back(whole.values(0, row, c));
    auto& update = updates.emplace_back(part);
    update.set_values(0, values);
    update.shards[0].full_dim = 24;
  }

  Update<Types> expected(whole);
  const std::int64_t per_row = row_sum_count(optimizer.kind);
  for (UpdateStep step{.number = 1}; step.number <= 2; ++step.number) {
    expected.run(whole);
    std::vector<double> sums(whole.bags.indices.size() * at(per_row));
    for (std::size_t half = 0; half < 2; ++half) {
      auto& update = updates[half];
      const Array<Exec, double> own("sums", sums.size());
      row_sums(update.exec, update.gradients(parts[half]), update.list(), step, update.workspace, own, per_row);
      for (std::size_t i = 0; const double sum : host(own)) sums[i++] += sum;
    }
    for (std::size_t half = 0; half < 2; ++half) {
      auto& update = updates[half];
      fused_update(update.exec, update.gradients(parts[half]), update.list(), step, update.workspace,
                   {array_of(update.exec, sums, "sums"), per_row});
      const auto got = update.values(0), want = expected.values(0);
      for (std::int64_t row = 0; row < 20; ++row)
        for (std::int64_t c = 0; c < dims[half]; ++c) {
          const float value = want[at(row * 24 + begin[half] + c)];
          ASSERT_NEAR(got[at(row * dims[half] + c)], value, 4e-7 * (1 + std::abs(value)))
              << "step " << step.number << " row " << row << " column " << c << " of part " << half;
        }
    }
  }
}

TEST(RowSums, ColumnShardsWithCompletedSumsEqualTheWholeTable) {
  for (std::size_t number = 0; number < 3 * optimizers.size(); ++number)
    if (const auto optimizer = any_optimizer(number); row_sum_count(optimizer.kind) > 0)
      expect_parts_equal_whole<Int64Ids>(optimizer);
}

}  // namespace
}  // namespace shardmark::kernels::test
