// SPDX-License-Identifier: Apache-2.0
#include "kernels/lookup/pooled_gradients.hpp"
#include "kernels/test/host_table.hpp"
#include "reference/pooled_lookup.hpp"

namespace shardmark::kernels::test {
namespace {

/// One table, its bags in one block, and gradients of their vectors, which lie `gap` elements apart.
template <class Types>
struct Backward {
  using Exec = typename Types::Exec;
  static constexpr std::int64_t rows = 30, bag_count = 60, gap = 2;

  Exec exec;
  HostTable table;
  HostBags bags;
  Pooling pooling;
  std::vector<float> gradients;  ///< [vectors, dim + gap]

  Backward(std::uint64_t seed, ValueType type, std::int64_t dim, Pooling pool, bool weighted)
      : table(type, rows, dim, {.seed = seed, .unit = 0x1p-6F}, 0), pooling(pool) {
    Random random(seed);
    bags.add_random(random, bag_count, rows, 4);
    if (weighted) bags.add_weights(random);
    gradients.resize(at(vectors() * (dim + gap)));
    for (auto& gradient : gradients) gradient = 0x1p-6F * static_cast<float>(draw(random, -4, 4));
  }

  std::int64_t vectors() const { return pooling == Pooling::none ? std::ssize(bags.indices) : bag_count; }
  std::int64_t begin(std::int64_t bag) const { return bags.offsets[at(bag)]; }
  std::span<const std::int64_t> ids(std::int64_t first, std::int64_t count) const {
    return std::span(bags.indices).subspan(at(first), at(count));
  }
  std::span<const float> weights(std::int64_t first, std::int64_t count) const {
    return bags.weights.empty() ? std::span<const float>() : std::span(bags.weights).subspan(at(first), at(count));
  }
  std::span<const float> gradient(std::int64_t vector) const {
    return std::span(gradients).subspan(at(vector * (table.dim + gap)), at(table.dim));
  }
  auto row_of() const {
    return [this](std::int64_t id) { return table.row(id); };
  }

  /// The gradients of max (one vector per id), or those of the weights, by the kernels.
  std::vector<float> run(bool of_weights) const {
    const auto stored = array_of(exec, table.bytes, "rows");
    PooledGradient block;
    block.bags = bag_count;
    block.rows = stored.data();
    block.value_type = table.value_type;
    block.dim = table.dim;
    block.output_stride = table.dim;
    block.pooling = pooling;
    block.gradient_stride = table.dim + gap;
    block.id_gradient_stride = table.dim;
    const auto offsets = array_of(exec, bags.offsets, "offsets");
    const auto indices = array_of(exec, converted<typename Types::Index>(bags.indices), "indices");
    const auto weight = array_of(exec, bags.weights, "weights");
    const auto gradient = array_of(exec, gradients, "gradients");
    const Array<Exec, float> pooled("pooled", at(vectors() * table.dim));
    const Array<Exec, float> per_id("per_id", bags.indices.size() * at(table.dim));
    const Array<Exec, float> weight_gradient("weight_gradient", bags.indices.size());
    pooled_lookup<Exec>(exec, array_of(exec, std::vector<LookupBlock>{block}, "lookup"), offsets, indices, weight,
                        pooled);
    const auto blocks = array_of(exec, std::vector{block}, "blocks");
    max_gradients<Exec>(exec, blocks, offsets, indices, weight, pooled, gradient, per_id);
    if (!of_weights) return host(per_id);
    if (pooling != Pooling::max) {
      weight_gradients<Exec>(exec, blocks, offsets, indices, weight, gradient, weight_gradient);
    } else {
      block.pooling = Pooling::none;
      block.gradient_stride = table.dim;
      weight_gradients<Exec>(exec, array_of(exec, std::vector{block}, "none"), offsets, indices, weight, per_id,
                             weight_gradient);
    }
    return host(weight_gradient);
  }
};

template <class Types>
class BackwardTest : public testing::Test {};
TYPED_TEST_SUITE(BackwardTest, IndexTypes);

/// Calls body(problem) for every value type, dims with and without a tail, weights or none.
template <class Types, class Body>
void for_all_problems(Pooling pooling, const Body& body) {
  std::uint64_t seed = 100;
  for (const auto& type : value_types)
    for (const std::int64_t dim : {1, 4, 16, 33, 64, 130})
      for (const bool weighted : {false, true}) {
        SCOPED_TRACE(seed_line(++seed) + ", " + std::string(type.name) + ", dim " + std::to_string(dim));
        body(Backward<Types>(seed, type.value, dim, pooling, weighted));
      }
}

TYPED_TEST(BackwardTest, MaximaShareTheirGradientAmongTies) {
  for_all_problems<TypeParam>(Pooling::max, [](const auto& problem) {
    std::vector<float> expected(problem.bags.indices.size() * at(problem.table.dim));
    for (std::int64_t bag = 0; bag < problem.bag_count; ++bag) {
      const std::int64_t begin = problem.begin(bag), count = problem.bags.size(bag);
      reference::for_each_share(Pooling::max, problem.row_of(), problem.ids(begin, count),
                                problem.weights(begin, count), problem.gradient(bag),
                                [&](std::size_t i, std::size_t c, double share) {
                                  expected[(at(begin) + i) * at(problem.table.dim) + c] = static_cast<float>(share);
                                });
    }
    ASSERT_EQ(problem.run(false), expected);
  });
}

TYPED_TEST(BackwardTest, OtherPoolingsHaveNoGradientOfMax) {
  const Backward<TypeParam> problem(1, ValueType::fp32, 16, Pooling::sum, true);
  for (const float value : problem.run(false)) ASSERT_EQ(value, 0);
}

TYPED_TEST(BackwardTest, WeightGradientsAreThoseOfTheReference) {
  for (const auto& pooling : poolings) {
    SCOPED_TRACE(pooling.name);
    for_all_problems<TypeParam>(pooling.value, [&](const auto& problem) {
      const auto gradients = problem.run(true);
      for (std::int64_t vector = 0; vector < problem.vectors(); ++vector) {
        const bool per_id = pooling.value == Pooling::none;
        const std::int64_t begin = per_id ? vector : problem.begin(vector);
        const std::int64_t count = per_id ? 1 : problem.bags.size(vector);
        const auto expected = reference::weight_gradients(pooling.value, problem.row_of(), problem.ids(begin, count),
                                                          problem.weights(begin, count), problem.gradient(vector));
        for (std::int64_t i = 0; i < count; ++i) {
          const double bound = 1e-6 * (1 + std::abs(expected[at(i)]));  // sums of up to 130 terms below 1/16
          ASSERT_NEAR(gradients[at(begin + i)], expected[at(i)], bound) << "vector " << vector << ", id " << i;
        }
      }
    });
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
