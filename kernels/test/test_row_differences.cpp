// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>

#include "kernels/tensor_train/row_differences.hpp"
#include "kernels/test/bags.hpp"

namespace shardmark::kernels::test {
namespace {

constexpr std::int64_t dim = 3, stride = 5;

/// Differences, and beside them what they should be.
struct Differences {
  RowDifferences<Space> differences{dim};
  std::map<std::int64_t, float> model;  ///< column c of a row's difference is this + c

  void merge(const std::vector<std::int64_t>& leaving, const std::vector<std::int64_t>& entering, float value) {
    const Space exec;
    std::vector<float> vectors(leaving.size() * stride, -1.0F);
    for (const auto row : entering) model.erase(row);
    for (std::size_t i = 0; i < leaving.size(); ++i) {
      const float first = value + static_cast<float>(i);
      model[leaving[i]] = first;
      for (std::int64_t c = 0; c < dim; ++c) vectors[i * stride + at(c)] = first + static_cast<float>(c);
    }
    differences.merge(exec, array_of(exec, leaving, "leaving"), array_of(exec, vectors, "vectors"), stride,
                      array_of(exec, entering, "entering"));
  }

  void expect_right(std::int64_t table_rows) const {
    const Space exec;
    std::vector<std::int64_t> keys, every;
    for (const auto& [row, value] : model) keys.push_back(row);
    EXPECT_EQ(host(differences.rows()), keys);
    for (std::int64_t row = table_rows - 1; row >= 0; --row) every.push_back(row);
    const auto rows = array_of(exec, every, "rows");
    const Array<Space, std::int64_t> places("places", every.size());
    differences.find(exec, rows, places);
    const auto vectors = array_of(exec, std::vector<float>(every.size() * stride, 100.0F), "vectors");
    differences.add_to(exec, rows, vectors, stride);
    const auto host_places = host(places);
    const auto sums = host(vectors), all = host(differences.vectors());
    for (std::size_t i = 0; i < every.size(); ++i) {
      const auto found = model.find(every[i]);
      ASSERT_EQ(host_places[i] >= 0, found != model.end()) << "row " << every[i];
      for (std::int64_t c = 0; c < stride; ++c) {
        const bool added = found != model.end() && c < dim;
        const float difference = added ? found->second + static_cast<float>(c) : 0.0F;
        ASSERT_EQ(sums[i * stride + at(c)], 100.0F + difference) << "row " << every[i] << " column " << c;
        ASSERT_TRUE(!added || all[at(host_places[i] * dim + c)] == difference);
      }
    }
  }
};

TEST(RowDifferences, HandComputed) {
  Differences differences;
  differences.expect_right(10);
  differences.merge({}, {1, 2}, 0);
  EXPECT_EQ(differences.differences.count(), 0);
  differences.merge({2, 5, 9}, {1}, 10);
  differences.expect_right(10);
  const auto allocated = differences.differences.vectors().extent(0);
  differences.merge({0, 7}, {2, 3, 9}, 20);
  differences.expect_right(10);
  EXPECT_EQ(differences.differences.count(), 3);
  EXPECT_EQ(differences.differences.bytes(), 3 * (16 + 4 * dim));
  EXPECT_EQ(differences.differences.vectors().extent(0), allocated) << "vectors are used again";
  differences.merge({}, {0, 5, 7}, 0);
  differences.expect_right(10);
  EXPECT_EQ(differences.differences.count(), 0);
}

TEST(RowDifferences, AreThoseOfTheRowsThatLeftLastAfterAnyNumberOfMerges) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    Random random(seed);
    const std::int64_t rows = seed == 1 ? 40 : 4000;
    Differences differences;
    for (int merge = 0; merge < 25; ++merge) {
      std::set<std::int64_t> leaving, entering;
      for (std::int64_t k = draw(random, 0, rows / 8); k > 0; --k) entering.insert(draw(random, 0, rows - 1));
      for (std::int64_t k = draw(random, 0, rows / 8); k > 0; --k) {
        const std::int64_t row = draw(random, 0, rows - 1);
        if (!entering.contains(row) && !differences.model.contains(row)) leaving.insert(row);
      }
      differences.merge({leaving.begin(), leaving.end()}, {entering.begin(), entering.end()},
                        static_cast<float>(10000 * merge));
      differences.expect_right(rows);
    }
    EXPECT_GT(differences.differences.count(), 0);
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
