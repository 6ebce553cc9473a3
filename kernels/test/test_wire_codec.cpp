// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/test/host_table.hpp"
#include "kernels/wire/wire_codec.hpp"

namespace shardmark::kernels::test {
namespace {

template <class Types>
class WireCodecTest : public testing::Test {};
TYPED_TEST_SUITE(WireCodecTest, IndexTypes);

/// Blocks of many dims, as a table each; the wire holds the tables' bytes, the vectors come back as their values.
TYPED_TEST(WireCodecTest, EncodesAndDecodesAsTheReference) {
  using Exec = typename TypeParam::Exec;
  const Exec exec;
  for (const auto& type : value_types)
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(seed_line(seed) + ", " + std::string(type.name));
      Random random(seed);
      std::uniform_real_distribution<float> any(-100, 100);
      std::vector<WireBlock> blocks;
      std::vector<float> vectors, values;
      std::vector<char> bytes;
      std::int64_t rows = 0;
      for (const std::int64_t dim : {1, 3, 8, 16, 33, 64, 130}) {
        const std::int64_t count = draw(random, 0, 300);
        HostTable table(type.value, count, dim);
        blocks.push_back({rows, count, dim, std::ssize(vectors), (std::ssize(bytes) + 3) / 4 * 4});
        bytes.resize(at(blocks.back().wire));
        for (std::int64_t i = 0; i < count; ++i) {
          std::vector<float> row(at(dim));
          for (auto& value : row) value = i == 0 ? 7.0F : any(random);
          table.set_row(i, row);
          vectors.insert(vectors.end(), row.begin(), row.end());
        }
        values.insert(values.end(), table.values.begin(), table.values.end());
        bytes.insert(bytes.end(), table.bytes.begin(), table.bytes.end());
        EXPECT_EQ(wire_bytes(type.value, blocks.back()), std::ssize(table.bytes));
        rows += count;
      }
      const auto device_blocks = array_of(exec, blocks, "blocks");
      const Array<Exec, char> wire("wire", bytes.size());
      encode_wire<Exec>(exec, type.value, rows, device_blocks, array_of(exec, vectors, "vectors"), wire);
      EXPECT_EQ(host(wire), bytes);
      const Array<Exec, float> decoded("decoded", vectors.size());
      decode_wire<Exec>(exec, type.value, rows, device_blocks, wire, decoded);
      EXPECT_EQ(host(decoded), values);
    }
}

/// Values at which rounding has something to decide: ties, subnormal, largest, infinite.
TYPED_TEST(WireCodecTest, RoundsEdgesAsTheReference) {
  using Exec = typename TypeParam::Exec;
  const Exec exec;
  std::vector<float> edges;
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent)
    for (const std::uint32_t below :
         {0x0U, 0x1U, 0xfffU, 0x1000U, 0x1001U, 0x3000U, 0x7fffU, 0x8000U, 0x18000U, 0x7fffffU})
      for (const std::uint32_t sign : {0U, 0x80000000U})
        edges.push_back(std::bit_cast<float>(sign | exponent << 23 | below));
  const auto dim = std::ssize(edges);
  const auto blocks = array_of(exec, std::vector<WireBlock>{{0, 1, dim, 0, 0}}, "blocks");
  const Array<Exec, char> wire("wire", at(2 * dim));
  for (const auto type : {ValueType::fp16, ValueType::bf16}) {
    encode_wire<Exec>(exec, type, 1, blocks, array_of(exec, edges, "edges"), wire);
    const auto bytes = host(wire);
    for (std::int64_t c = 0; c < dim; ++c) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, &bytes[at(2 * c)], 2);
      const float value = edges[at(c)];
      ASSERT_EQ(bits, type == ValueType::fp16 ? rounded_to<Fp16>(value).bits : rounded_to<Bf16>(value).bits) << value;
    }
  }
}

/// No finite value comes back infinite, whatever the row.
TYPED_TEST(WireCodecTest, FiniteRowsStayFinite) {
  using Exec = typename TypeParam::Exec;
  const Exec exec;
  constexpr float largest = std::numeric_limits<float>::max();
  for (const auto& type : value_types)
    for (const std::vector<float>& row : {std::vector<float>{-largest, largest, 0.5F * largest, 1.0F},
                                          {0.75F * largest, -0.5F * largest, 65520.0F, 1e-40F},
                                          std::vector<float>(33, -largest)}) {
      HostTable table(type.value, 1, std::ssize(row));
      table.set_row(0, row);
      const auto blocks = array_of(exec, std::vector<WireBlock>{{0, 1, std::ssize(row), 0, 0}}, "blocks");
      const Array<Exec, char> wire("wire", table.bytes.size());
      const Array<Exec, float> decoded("decoded", row.size());
      encode_wire<Exec>(exec, type.value, 1, blocks, array_of(exec, row, "row"), wire);
      decode_wire<Exec>(exec, type.value, 1, blocks, wire, decoded);
      EXPECT_EQ(host(wire), table.bytes) << type.name;
      EXPECT_EQ(host(decoded), table.values) << type.name;
      for (const float x : host(decoded)) EXPECT_TRUE(std::isfinite(x)) << type.name;
    }
}

TEST(WireCodec, TakesNoRows) {
  const Space exec;
  encode_wire<Space>(exec, ValueType::int8, 0, {}, {}, {});
}

}  // namespace
}  // namespace shardmark::kernels::test
