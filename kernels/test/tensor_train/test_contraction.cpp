// SPDX-License-Identifier: Apache-2.0
#include "kernels/test/tensor_train/contraction_problem.hpp"
#include "kernels/update/fused_update.hpp"

namespace shardmark::kernels::test {
namespace {

constexpr double unit = 0x1p-24;

/// `cores` factors of dim, in any order.
std::array<std::int64_t, 6> factors(Random& random, std::int64_t dim, int cores) {
  std::array<std::int64_t, 6> result{};
  for (int t = 0; t < cores; ++t) result[at(t)] = 1;
  for (std::int64_t prime = 2; dim > 1; ++prime)
    for (; dim % prime == 0; dim /= prime) result[at(draw(random, 0, cores - 1))] *= prime;
  return result;
}

TensorTrainShape random_shape(Random& random, int cores, std::int64_t dim) {
  TensorTrainShape shape{.cores = cores, .q = factors(random, dim, cores)};
  for (int t = 0; t < cores; ++t) shape.p[at(t)] = draw(random, 1, cores > 4 ? 4 : 9);
  for (int t = 1; t < cores; ++t) shape.r[at(t)] = draw(random, 1, cores > 3 ? 7 : 19);
  shape.r[0] = shape.r[at(cores)] = 1;
  return shape;
}

/// Tables of 2 to 6 cores, of all value types, both directions; one is asked for no row, one for its last and one that
/// is repeated.
std::vector<HostTt> random_tables(std::uint64_t seed, bool exact) {
  Random random(seed);
  std::vector<HostTt> tables;
  constexpr std::array types{ValueType::fp32, ValueType::fp16, ValueType::bf16};
  constexpr std::array dims{1, 7, 96, 128, 192};
  for (int n = 0; n < 6; ++n) {
    const auto choice = seed + at(n);
    tables.emplace_back(random_shape(random, 2 + n % 5, dims[choice % 5]), types[choice % 3], choice % 2 == 1, random,
                        exact);
    auto& ids = tables.back().ids;
    const std::int64_t rows = tables.back().shape.rows();
    if (n == 3) continue;
    ids = {rows - 1, 0, rows - 1};
    for (std::int64_t i = draw(random, 0, 60); i > 0; --i) ids.push_back(draw(random, 0, rows - 1));
  }
  return tables;
}

void expect_rows(Contraction& problem, bool exact) {
  const auto got = problem.contracted();
  for (std::size_t u = 0; u < problem.rows.size(); ++u) {
    const auto& [s, id] = problem.rows[u];
    HostTt& table = problem.tables[s];
    SCOPED_TRACE("table " + std::to_string(s) + " row " + std::to_string(id));
    const Row expected = table.row(id, false), magnitudes = table.row(id, true);
    const double bound = exact ? 0 : unit * static_cast<double>(longest_chain(table.shape));
    for (std::size_t c = 0; c < expected.size(); ++c)
      ASSERT_NEAR(got[u * at(problem.stride) + c], expected[c], bound * magnitudes[c]) << "column " << c;
  }
}

void expect_gradients(Contraction& problem, SliceSums order, bool exact) {
  const auto got = problem.slice_sums(order);
  const auto expected = problem.expected_sums(false), magnitudes = problem.expected_sums(true);
  std::size_t count = 0;
  for (const auto& of_table : expected) count += of_table.size();
  EXPECT_EQ(got.size(), count);
  for (const auto& [key, sum] : got) {
    const auto place = problem.place_of(key);
    const HostTt& table = problem.tables[place.table];
    const std::pair slice(table.core(place.t), place.slice);
    SCOPED_TRACE("table " + std::to_string(place.table) + " core " + std::to_string(place.t) + " slice " +
                 std::to_string(place.slice));
    ASSERT_TRUE(expected[place.table].contains(slice));
    const double chain = static_cast<double>(longest_chain(table.shape) + std::ssize(problem.rows));
    for (std::size_t e = 0; e < sum.size(); ++e) {
      const auto i = at(table.element(place.t, static_cast<std::int64_t>(e)));
      ASSERT_NEAR(sum[e], expected[place.table].at(slice)[i],
                  exact ? 0 : unit * chain * magnitudes[place.table].at(slice)[i])
          << "element " << e;
    }
  }
}

TEST(Contraction, HandComputed) {
  Random random(1);
  TensorTrainShape shape{.cores = 2, .p = {2, 2}, .q = {2, 1}, .r = {1, 2, 1}};
  HostTt table(shape, ValueType::fp32, false, random, true);
  table.cores[0].set_row(1, {1, 2, 3, 4});  // [q = 2][r = 2]
  table.cores[1].set_row(0, {5, 6});        // [r = 2][q = 1]
  table.ids = {2};
  Contraction problem({table});
  auto rows = problem.contracted();
  rows.resize(2);
  EXPECT_EQ(rows, (std::vector<float>{1 * 5 + 2 * 6, 3 * 5 + 4 * 6}));
  problem.gradients[0] = 1;
  problem.gradients[1] = -1;
  EXPECT_EQ(problem.slice_sums(SliceSums::ordered),
            (std::map<std::int64_t, std::vector<float>>{{1, {5, 6, -5, -6}}, {2, {1 - 3, 2 - 4}}}));
}

TEST(Contraction, EqualsTheDefinitionBitForBitOnExactValues) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    Random random(seed + 1000);
    Contraction problem(random_tables(seed, true));
    problem.add_gradients(random, true);
    expect_rows(problem, true);
    expect_gradients(problem, seed % 2 == 0 ? SliceSums::ordered : SliceSums::unordered, true);
  }
}

TEST(Contraction, StaysWithinItsBoundOnAnyValues) {
  for (std::uint64_t seed = 20; seed < 30; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    Random random(seed + 1000);
    Contraction problem(random_tables(seed, false));
    problem.add_gradients(random, false);
    expect_rows(problem, false);
    expect_gradients(problem, SliceSums::ordered, false);
    expect_gradients(problem, SliceSums::unordered, false);
  }
}

TEST(Contraction, TakesNoRows) {
  Random random(2);
  auto tables = random_tables(40, false);
  for (auto& table : tables) table.ids.clear();
  Contraction problem(tables);
  EXPECT_TRUE(problem.contracted().empty());
  EXPECT_TRUE(problem.slice_sums(SliceSums::ordered).empty());
  EXPECT_TRUE(problem.slice_sums(SliceSums::unordered).empty());
}

/// Rows enough for several blocks, of tables of 2, 3 and 4 cores: nearly all of them below one prefix, or in one group.
std::vector<HostTt> large_tables(std::uint64_t seed) {
  Random random(seed);
  std::vector<HostTt> tables;
  const auto add = [&](const TensorTrainShape& shape, std::int64_t count) {
    tables.emplace_back(shape, ValueType::fp32, tables.size() % 2 == 1, random, false);
    for (std::int64_t i = 0; i < count; ++i) tables.back().ids.push_back(i % shape.rows());
  };
  add({.cores = 2, .p = {20, 900}, .q = {3, 2}, .r = {1, 5, 1}}, 18'000);
  add({.cores = 3, .p = {40, 3, 200}, .q = {2, 1, 2}, .r = {1, 3, 2, 1}}, 23'000);
  add({.cores = 4, .p = {2, 90, 1, 110}, .q = {2, 1, 1, 2}, .r = {1, 2, 3, 2, 1}}, 19'000);
  return tables;
}

TEST(Contraction, HasTheSameBitsForAnyMemoryAndNumberOfThreads) {
  const auto tables = large_tables(50);
  const auto results = [&](const Space& exec, std::int64_t bytes) {
    Random random(51);
    Contraction problem(tables, exec);
    problem.workspace.most_bytes = bytes;
    problem.add_gradients(random, false);
    EXPECT_GT(problem.tree.nodes.blocks, 3);
    return std::pair(problem.contracted(), problem.slice_sums(SliceSums::ordered));
  };
  const auto expected = results(Space(), std::int64_t{1} << 30);
  EXPECT_EQ(results(Space(), 0), expected);
  EXPECT_EQ(results(Space(), 3'000'000), expected);
  EXPECT_EQ(results(half_of_the_threads(), std::int64_t{1} << 30), expected);
}

TEST(Contraction, IsRightForManyRowsBelowOnePrefix) {
  Random random(61);
  Contraction problem(large_tables(60));
  problem.add_gradients(random, false);
  const auto got = problem.slice_sums(SliceSums::ordered), unordered = problem.slice_sums(SliceSums::unordered);
  const auto expected = problem.expected_sums(false), magnitudes = problem.expected_sums(true);
  for (const auto& [key, sum] : got) {
    const auto place = problem.place_of(key);
    const HostTt& table = problem.tables[place.table];
    const std::pair slice(table.core(place.t), place.slice);
    for (std::size_t e = 0; e < sum.size(); ++e) {
      const auto i = at(table.element(place.t, static_cast<std::int64_t>(e)));
      const double bound = 3000 * unit * magnitudes[place.table].at(slice)[i];
      ASSERT_NEAR(sum[e], expected[place.table].at(slice)[i], bound) << "key " << key;
      ASSERT_NEAR(unordered.at(key)[e], sum[e], 2 * bound) << "key " << key;
    }
  }
}

TEST(Contraction, CountsDistinctPrefixes) {
  Random random(70);
  HostTt three({.cores = 3, .p = {4, 5, 6}, .q = {1, 2, 1}, .r = {1, 2, 2, 1}}, ValueType::fp32, false, random, true);
  HostTt two({.cores = 2, .p = {7, 8}, .q = {1, 2}, .r = {1, 2, 1}}, ValueType::fp32, false, random, true);
  three.ids = {0, 1, 6, 30, 31, 119, 1};  // (0,0) (0,1) (1,0) (3,4)
  two.ids = {8, 9, 17};
  Contraction problem({three, two});
  const auto counts = count_prefixes(problem.exec, problem.tree, problem.tts);
  EXPECT_EQ(counts[0], (std::array<std::int64_t, 6>{3, 4, 6, 0, 0, 0}));
  EXPECT_EQ(counts[1], (std::array<std::int64_t, 6>{2, 3, 0, 0, 0, 0}));
}

/// FBTT-Embedding leaves slices whose number is above r q r as they are; here each slice that a row uses moves by its
/// gradient, and no other.
TEST(Contraction, UpdatesEverySliceThatARowUsesAndNoOther) {
  Random random(80);
  HostTt table({.cores = 3, .p = {300, 280, 320}, .q = {2, 1, 2}, .r = {1, 2, 2, 1}}, ValueType::fp32, false, random,
               true);
  for (std::int64_t i = 0; i < 200; ++i) table.ids.push_back(draw(random, 0, table.shape.rows() - 1));
  table.ids.push_back(table.shape.rows() - 1);
  Contraction problem({table});
  problem.add_gradients(random, true);
  const auto sums = problem.slice_sums(SliceSums::ordered);
  std::map<std::int64_t, bool> used;
  for (const std::int64_t id : table.ids)
    for (int t = 0; t < 3; ++t) used[problem.cores[0].first_slice[at(t)] + table.shape.digits(id)[at(t)]] = true;
  EXPECT_EQ(sums.size(), used.size());
  for (const auto& [key, is_used] : used) EXPECT_TRUE(sums.contains(key)) << key;
  std::vector<UpdateShard> shards;
  for (int t = 0; t < 3; ++t) {
    const std::int64_t elements = table.shape.slice_elements(t);
    shards.push_back({.rows = problem.stored[at(t)].data(),
                      .first_key = problem.cores[0].first_slice[at(t)],
                      .dim = elements,
                      .full_dim = elements,
                      .optimizer = {.learning_rate = 0.5F}});
  }
  fused_update<Space>(problem.exec, problem.sliced(SliceSums::ordered), shard_list(problem.exec, shards), {},
                      problem.gradients_workspace);
  for (int t = 0; t < 3; ++t) {
    const auto bytes = host(problem.stored[at(t)]);
    for (std::int64_t slice = 0; slice < table.shape.p[at(t)]; ++slice) {
      const std::int64_t elements = table.shape.slice_elements(t);
      std::vector<float> now(at(elements));
      std::memcpy(now.data(), bytes.data() + slice * elements * 4, at(elements * 4));
      const auto sum = sums.find(problem.cores[0].first_slice[at(t)] + slice);
      for (std::int64_t e = 0; e < elements; ++e)
        ASSERT_EQ(now[at(e)],
                  table.cores[at(t)].row(slice)[at(e)] - (sum == sums.end() ? 0 : 0.5F * sum->second[at(e)]))
            << "core " << t << " slice " << slice;
    }
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
