// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/dense/gemm.hpp"
#include "kernels/test/dense/copies.hpp"

namespace shardmark::kernels::test {
namespace {

/// Whole numbers whose sums fp32 has exactly, in rows that lie `spare` numbers apart; what lies between them is marked.
struct WholeNumbers {
  static constexpr float mark = 1e30F;
  std::int64_t rows, columns, stride;
  std::vector<float> values;
  Array<DenseExecution, float> array;

  WholeNumbers(std::int64_t rows_, std::int64_t columns_, std::int64_t spare, std::mt19937& random)
      : rows(rows_), columns(columns_), stride(columns_ + spare), values(rows_ * (columns_ + spare), mark) {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) at(r, c) = static_cast<float>(static_cast<int>(random() % 9) - 4);
    array = computed_with(values);
  }
  float& at(std::int64_t r, std::int64_t c) { return values[r * stride + c]; }
  Floats view() { return {array.data(), rows, columns, stride}; }
};

template <class A, class B>
void expect_products(std::int64_t depth, float start, A&& a, B&& b, WholeNumbers& c, const WholeNumbers& before) {
  c.values = computed(c.array);
  for (std::int64_t r = 0; r < c.rows; ++r) {
    for (std::int64_t n = 0; n < c.columns; ++n) {
      float sum = start * before.values[r * c.stride + n];
      for (std::int64_t k = 0; k < depth; ++k) sum += a(r, k) * b(k, n);
      ASSERT_EQ(sum, c.at(r, n)) << r << " " << n;
    }
    for (std::int64_t n = c.columns; n < c.stride; ++n) ASSERT_EQ(WholeNumbers::mark, c.at(r, n));
  }
}

TEST(Gemm, IsTheProductOfAnyShape) {
  std::mt19937 random(1);
  for (const std::int64_t m : {0, 1, 33, 100})
    for (const std::int64_t n : {0, 1, 7, 129})
      for (const std::int64_t k : {0, 1, 5, 64}) {
        SCOPED_TRACE(std::to_string(m) + " " + std::to_string(n) + " " + std::to_string(k));
        WholeNumbers a(m, k, 3, random), a_transposed(k, m, 1, random), b(k, n, 2, random),
            b_transposed(n, k, 0, random);
        WholeNumbers c(m, n, 4, random);
        const WholeNumbers before = c;
        product(a.view(), b.view(), c.view(), true);
        const auto of = [](WholeNumbers& x) { return [&x](auto r, auto q) { return x.at(r, q); }; };
        const auto flipped = [](WholeNumbers& x) { return [&x](auto r, auto q) { return x.at(q, r); }; };
        expect_products(k, 1.0F, of(a), of(b), c, before);
        product(a.view(), b.view(), c.view());
        expect_products(k, 0.0F, of(a), of(b), c, before);
        product_transposed(a.view(), b_transposed.view(), c.view());
        expect_products(k, 0.0F, of(a), flipped(b_transposed), c, before);
        product_of_transposed(a_transposed.view(), b.view(), c.view());
        expect_products(k, 0.0F, flipped(a_transposed), of(b), c, before);
      }
}

TEST(Gemm, RefusesWhatBlasCannotCount) {
  float one = 0.0F;
  const Floats wide(&one, 1, std::int64_t{1} << 31);
  EXPECT_THROW(product_transposed(wide, wide, Floats(&one, 1, 1)), std::invalid_argument);
}

}  // namespace
}  // namespace shardmark::kernels::test
