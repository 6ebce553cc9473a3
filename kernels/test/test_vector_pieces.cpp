// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "kernels/route/vector_pieces.hpp"

namespace shardmark::kernels {
namespace {

using Exec = DefaultSpace;

/// Two features at home: one [2 bags, dim 3] from two partials, and columns 1 and 2 of one [3 bags, dim 4] from one.
struct Problem {
  Exec exec;
  ConstArray<Exec, VectorPiece> pieces = array_of<Exec, VectorPiece>(
      exec,
      {{.first_row = 0, .bags = 2, .dim = 3, .home = 0, .home_stride = 3, .first_partial = 0, .partials = 2},
       {.first_row = 2, .bags = 3, .dim = 2, .home = 6 + 1, .home_stride = 4, .first_partial = 2, .partials = 1}},
      "pieces");
  Partials<Exec> partials{array_of<Exec, Partial>(exec, {{.packed = 12}, {.packed = 0}, {.packed = 6}}, "partials"),
                          {}};
};

std::vector<float> host(const Array<Exec, float>& array) {
  const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), array);
  return {copy.data(), copy.data() + copy.extent(0)};
}

TEST(VectorPieces, PartialsAddUpAtHomeAndOtherColumnsStay) {
  const Problem p;
  const auto packed =
      array_of<Exec, float>(p.exec, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 100, 200, 300, 400, 500, 600}, "packed");
  const auto home = array_of<Exec, float>(p.exec, std::vector<float>(18, -1.0F), "home");
  sum_partials<Exec>(p.exec, p.pieces, p.partials, 5, packed, home);
  EXPECT_EQ((std::vector<float>{101, 202, 303, 404, 505, 606, -1, 7, 8, -1, -1, 9, 10, -1, -1, 11, 12, -1}),
            host(home));
}

TEST(VectorPieces, EveryPartialGetsTheGradientOfItsBag) {
  const Problem p;
  const auto home = array_of<Exec, float>(p.exec, {1, 2, 3, 4, 5, 6, 0, 7, 8, 0, 0, 9, 10, 0, 0, 11, 12, 0}, "home");
  const auto packed = array_of<Exec, float>(p.exec, std::vector<float>(18, -1.0F), "packed");
  copy_to_partials<Exec>(p.exec, p.pieces, p.partials, 5, home, packed);
  EXPECT_EQ((std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6}), host(packed));
}

/// Three bags of dim 2 from two partials that each have a vector for some of the bags only: {0, 2} and {0}.
TEST(VectorPieces, PartialsWithoutAVectorForEveryBag) {
  const Exec exec;
  const auto pieces = array_of<Exec, VectorPiece>(exec, {{.bags = 3, .dim = 2, .home_stride = 2, .partials = 2}}, "");
  const Partials<Exec> partials{
      array_of<Exec, Partial>(exec, {{.packed = 2, .first_cell = 1}, {.packed = 0, .first_cell = 4}}, ""),
      array_of<Exec, std::int64_t>(exec, {0, 5, 6, 6, 7, 8, 8, 8}, "")};
  const auto packed = array_of<Exec, float>(exec, {1, 2, 10, 20, 100, 200}, "");
  const auto home = array_of<Exec, float>(exec, std::vector<float>(6, -1.0F), "");
  sum_partials<Exec>(exec, pieces, partials, 3, packed, home);
  EXPECT_EQ((std::vector<float>{11, 22, 0, 0, 100, 200}), host(home));
  copy_to_partials<Exec>(exec, pieces, partials, 3, array_of<Exec, float>(exec, {1, 2, 3, 4, 5, 6}, ""), packed);
  EXPECT_EQ((std::vector<float>{1, 2, 1, 2, 5, 6}), host(packed));
}

/// Pieces of many dims, some without bags, of 0 to 3 partials each, large enough to be written past the caches.
TEST(VectorPieces, AreWhatASerialLoopMakesOfThem) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](std::int64_t end) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
    };
    std::vector<VectorPiece> pieces;
    std::vector<Partial> partials;
    std::int64_t rows = 0, home_size = 0, packed_size = 0;
    constexpr std::array<std::int64_t, 8> dims{1, 4, 7, 16, 33, 64, 128, 300};
    for (const std::int64_t dim : dims) {
      const std::int64_t bags = below(4) == 0 ? 0 : below(8000), stride = dim + 16 * below(2), count = below(4);
      pieces.push_back({rows, bags, dim, home_size, stride, std::ssize(partials), count});
      for (std::int64_t k = 0; k < count; ++k, packed_size += bags * dim) partials.push_back({.packed = packed_size});
      rows += bags;
      home_size = (home_size + bags * stride + 15) / 16 * 16;
    }
    std::vector<float> packed(static_cast<std::size_t>(packed_size));
    for (float& value : packed) value = static_cast<float>(below(1000));
    std::vector<float> home(static_cast<std::size_t>(home_size), -1.0F), copies(packed);
    for (const VectorPiece& piece : pieces)
      for (std::int64_t b = 0; b < piece.bags; ++b)
        for (std::int64_t c = 0; c < piece.dim; ++c) {
          float& sum = home[piece.home + b * piece.home_stride + c] = 0.0F;
          const auto at = [&](std::int64_t k) {
            return static_cast<std::size_t>(partials[piece.first_partial + k].packed + b * piece.dim + c);
          };
          for (std::int64_t k = 0; k < piece.partials; ++k) sum += packed[at(k)];
          for (std::int64_t k = 0; k < piece.partials; ++k) copies[at(k)] = sum;
        }
    const Exec exec;
    const auto device_pieces = array_of(exec, pieces, "pieces");
    const Partials<Exec> device_partials{array_of(exec, partials, "partials"), {}};
    const auto device_packed = array_of(exec, packed, "packed");
    const auto device_home = array_of<Exec, float>(exec, std::vector<float>(home.size(), -1.0F), "home");
    sum_partials<Exec>(exec, device_pieces, device_partials, rows, device_packed, device_home);
    EXPECT_EQ(home, host(device_home));
    for (const Readers readers : {Readers::near, Readers::far}) {
      Kokkos::deep_copy(exec, device_packed, -1.0F);
      copy_to_partials<Exec>(exec, device_pieces, device_partials, rows, device_home, device_packed, readers);
      EXPECT_EQ(copies, host(device_packed));
    }
  }
}

TEST(VectorPieces, NothingToDo) {
  const Exec exec;
  const Array<Exec, float> none;
  sum_partials<Exec>(exec, {}, {}, 0, none, none);
  copy_to_partials<Exec>(exec, {}, {}, 0, none, none);
}

}  // namespace
}  // namespace shardmark::kernels
