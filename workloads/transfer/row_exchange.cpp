// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/row_exchange.hpp"

#include "kernels/wire/vector_errors.hpp"

namespace shardmark::workloads {
namespace {

constexpr std::array directions{Direction::forward, Direction::backward};

/// What a route counts: values of 4 or 2 bytes; for int8, whose rows begin with two floats, words of 4 bytes.
constexpr std::int64_t unit_bytes(ValueType type) { return type == ValueType::fp16 || type == ValueType::bf16 ? 2 : 4; }

/// Units of so many rows with so many elements, at most.
constexpr std::int64_t most_units(ValueType type, std::int64_t rows, std::int64_t elements) {
  return type == ValueType::int8 ? 2 * rows + (elements + 3 * rows) / 4 : elements;
}

std::vector<std::int64_t> units_by_peer(ValueType type, int ranks, const std::vector<RowBlock>& blocks) {
  std::vector<std::int64_t> units(static_cast<std::size_t>(ranks));
  for (const RowBlock& block : blocks) units[block.peer] += block.rows * row_bytes(type, block.dim) / unit_bytes(type);
  return units;
}

}  // namespace

void RowExchange::list(const std::vector<RowBlock>& blocks, End& end) const {
  end.rows = end.elements = 0;
  end.wire_bytes = {};
  for (auto& listed : end.blocks) listed.host.clear();
  for (const RowBlock& block : blocks) {
    if (block.rows == 0) continue;
    for (const Direction direction : directions) {
      std::int64_t& bytes = end.wire_bytes[number(direction)];
      auto& wire_blocks = end.blocks[number(direction)].host;
      wire_blocks.push_back(
          {.first_row = end.rows, .rows = block.rows, .dim = block.dim, .vectors = end.elements, .wire = bytes});
      bytes += kernels::wire_bytes(wire_.type(direction), wire_blocks.back());
    }
    end.rows += block.rows;
    end.elements += block.rows * block.dim;
  }
  for (const Direction direction : directions)
    if (!direct(direction)) end.blocks[number(direction)].array();
}

void RowExchange::lay_out(int ranks, const RowBlocks& blocks) {
  list(blocks.owner, owner_);
  list(blocks.home, home_);
  for (const Direction direction : directions) {
    const ValueType type = wire_.type(direction);
    const comm::Route forward(units_by_peer(type, ranks, blocks.owner), units_by_peer(type, ranks, blocks.home),
                              most_units(type, blocks.row_bound, blocks.element_bound));
    routes_[number(direction)] = direction == Direction::forward ? forward : forward.inverse();
  }
}

void RowExchange::encode(Direction direction, const DeviceArray<float>& from) {
  const Execution exec;
  const End& end = sender(direction);
  const auto type = wire_.type(direction);
  const auto& blocks = end.blocks[number(direction)].made();
  const auto wire = sent_ = sent_scratch_.first(end.wire_bytes[number(direction)]);
  received_ = received_scratch_.first(receiver(direction).wire_bytes[number(direction)]);
  kernels::encode_wire<Execution>(exec, type, end.rows, blocks, from, wire);
  if (!wire_.watched()) return;
  const auto decoded = decoded_.first(end.elements);
  kernels::decode_wire<Execution>(exec, type, end.rows, blocks, wire, decoded);
  wire_.add_error(direction, kernels::vector_errors<Execution>(exec, end.rows, blocks, from, decoded));
}

void RowExchange::move(Direction direction, const DeviceArray<float>& from, const DeviceArray<float>& to) {
  const comm::Route& route = routes_[number(direction)];
  if (route.bound() == 0) return;  // on every rank
  const auto bytes_of = [](const auto& array) { return reinterpret_cast<std::byte*>(array.data()); };
  const std::int64_t unit = unit_bytes(wire_.type(direction));
  if (direct(direction)) return exchange_.run(route, bytes_of(from), bytes_of(to), unit);
  encode(direction, from);
  exchange_.run(route, bytes_of(sent_), bytes_of(received_), unit);
  const End& end = receiver(direction);
  kernels::decode_wire<Execution>(Execution(), wire_.type(direction), end.rows, end.blocks[number(direction)].made(),
                                  received_, to);
}

}  // namespace shardmark::workloads
