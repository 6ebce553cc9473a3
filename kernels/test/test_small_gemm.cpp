// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/tensor_train/small_gemm.hpp"
#include "kernels/test/bags.hpp"

// Built three times, as test_simd.cpp is.

namespace shardmark::kernels::test {
namespace {

/// A product to be made: its arrays end with their last element, which preset asan watches.
template <class T>
struct Product {
  GemmSize size;
  bool transposed;  ///< A
  std::int64_t a_row, b_row, c_row;
  GemmStart start;
  std::vector<T> a, b;
  std::vector<float> c;

  Product(Random& random, GemmSize wanted, bool of_transposed, bool padded)
      : size(wanted), transposed(of_transposed), start(draw(random, 0, 1) == 0 ? GemmStart::zero : GemmStart::c) {
    const auto row_of = [&](std::int64_t columns) { return columns + (padded ? draw(random, 0, 5) : 0); };
    a_row = row_of(transposed ? size.m : size.k);
    b_row = row_of(size.n);
    c_row = row_of(size.n);
    fill(random, a, transposed ? size.k : size.m, transposed ? size.m : size.k, a_row);
    fill(random, b, size.k, size.n, b_row);
    fill(random, c, size.m, size.n, c_row);
  }

  /// Of arrays that begin with these elements.
  GemmLeft<T> left(const T* first) const {
    return {first, transposed ? std::int64_t{1} : a_row, transposed ? a_row : std::int64_t{1}};
  }

  /// Element by element, as the header promises; what lies between the rows of C stays.
  std::vector<float> expected() const {
    std::vector<float> result = c;
    const GemmLeft<T> from = left(a.data());
    for (std::int64_t i = 0; i < size.m; ++i)
      for (std::int64_t j = 0; j < size.n; ++j) {
        float sum = start == GemmStart::zero ? 0.0F : c[at(i * c_row + j)];
        for (std::int64_t k = 0; k < size.k; ++k)
          sum = std::fma(to_float(from.data[i * from.row + k * from.column]), to_float(b[at(k * b_row + j)]), sum);
        result[at(i * c_row + j)] = sum;
      }
    return result;
  }

 private:
  /// Numbers, and not-a-numbers between the rows.
  template <class Number>
  static void fill(Random& random, std::vector<Number>& values, std::int64_t rows, std::int64_t columns,
                   std::int64_t stride) {
    values.resize(rows == 0 ? 0 : at((rows - 1) * stride + columns));
    std::uniform_real_distribution<float> number(-1, 1);
    for (std::int64_t i = 0; i < std::ssize(values); ++i)
      values[at(i)] = rounded_to<Number>(i % stride < columns ? number(random) : std::nanf(""));
  }
};

template <class T>
std::vector<float> by_one_thread(const Product<T>& product) {
  std::vector<float> c = product.c;
  host::small_gemm(product.size, product.left(product.a.data()), GemmRows<const T>{product.b.data(), product.b_row},
                   GemmRows<float>{c.data(), product.c_row}, product.start);
  return c;
}

template <class T>
Array<Space, T> copy_of(const std::vector<T>& values) {
  const Array<Space, T> array("copy", values.size());
  Kokkos::deep_copy(array, host_array(values));
  return array;
}

/// In one team: by its threads as on a device, or as the space of the test takes it.
template <class T>
std::vector<float> by_team(const Product<T>& product, bool as_device) {
  const Space space;
  const auto a = copy_of(product.a), b = copy_of(product.b);
  const auto c = copy_of(product.c);
  const auto left = product.left(a.data());
  const GemmRows<const T> right{b.data(), product.b_row};
  const GemmRows<float> out{c.data(), product.c_row};
  const GemmSize size = product.size;
  const GemmStart start = product.start;
  using Policy = Kokkos::TeamPolicy<Space>;
  if (as_device)
    Kokkos::parallel_for(
        "test::small_gemm_of_devices", Policy(space, 1, Kokkos::AUTO),
        KOKKOS_LAMBDA(const Policy::member_type& team) { device::small_gemm(team, size, left, right, out, start); });
  else
    Kokkos::parallel_for(
        "test::small_gemm", Policy(space, 1, 1, 32),
        KOKKOS_LAMBDA(const Policy::member_type& team) { small_gemm(team, size, left, right, out, start); });
  return test::host(c);
}

void expect_bits(const std::vector<float>& found, const std::vector<float>& expected, const std::string& form) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(expected[i]))
        << form << ", element " << i << ": " << found[i] << " is not " << expected[i];
}

template <class T>
void expect_product(std::uint64_t seed, GemmSize size, bool transposed, bool padded) {
  SCOPED_TRACE(seed_line(seed) + ": " + std::to_string(size.m) + " x " + std::to_string(size.n) + " x " +
               std::to_string(size.k) + (transposed ? ", A transposed" : ""));
  Random random(seed);
  const Product<T> product(random, size, transposed, padded);
  const std::vector<float> expected = product.expected();
  expect_bits(by_one_thread(product), expected, "by one thread");
  expect_bits(by_team(product, true), expected, "as on a device");
  expect_bits(by_team(product, false), expected, "by a team");
}

TEST(SmallGemm, OfTheSizesOfTensorTrains) {
  std::uint64_t seed = 0;
  for (const GemmSize size : {GemmSize{32, 128, 32}, GemmSize{4, 128, 32}, GemmSize{128, 32, 16}, GemmSize{16, 4, 32},
                              GemmSize{16, 32, 4}, GemmSize{4, 32, 16}, GemmSize{16, 8, 32}, GemmSize{2, 2, 8}})
    for (const bool transposed : {false, true}) expect_product<float>(++seed, size, transposed, false);
}

TEST(SmallGemm, OfAnySizeAndStride) {
  for (std::uint64_t seed = 100; seed < 400; ++seed) {
    Random random(seed);
    const auto columns = std::array{draw(random, 1, 140), draw(random, 1, 20), std::int64_t{4}, std::int64_t{8}};
    const GemmSize size{draw(random, 0, 40), columns[at(draw(random, 0, 3))], draw(random, 0, 40)};
    expect_product<float>(seed, size, draw(random, 0, 1) == 1, true);
  }
}

TEST(SmallGemm, OfHalfPrecision) {
  for (std::uint64_t seed = 400; seed < 450; ++seed) {
    Random random(seed);
    const GemmSize size{draw(random, 1, 20), draw(random, 1, 80), draw(random, 1, 20)};
    expect_product<Fp16>(seed, size, draw(random, 0, 1) == 1, true);
    expect_product<Bf16>(seed, size, draw(random, 0, 1) == 1, true);
  }
}

/// Nothing is padded with zeros that could meet an infinity.
TEST(SmallGemm, OfInfinities) {
  for (const std::int64_t columns : {3, 4, 8, 17, 64}) {
    Random random(7);
    Product<float> product(random, {9, columns, 7}, false, false);
    product.b.back() = std::numeric_limits<float>::infinity();
    expect_bits(by_one_thread(product), product.expected(), "by one thread");
    expect_bits(by_team(product, true), product.expected(), "as on a device");
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
