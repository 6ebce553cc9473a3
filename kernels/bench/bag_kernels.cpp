// SPDX-License-Identifier: Apache-2.0
// These benchmarks are of what stands beside the pooled lookup: the check of the ids, gradients of maxima and weights,
// wire codec, vectors packed for two owners of row-split tables and added up again.
#include "kernels/bench/suite.hpp"
#include "kernels/lookup/pooled_gradients.hpp"
#include "kernels/route/check_bags.hpp"
#include "kernels/route/vector_pieces.hpp"
#include "kernels/wire/wire_codec.hpp"

namespace shardmark::kernels::bench {
namespace {

Array<Exec, float> ones(std::int64_t size) {
  const auto values = allocate<Exec, float>("shardmark::bench_values", size);
  Kokkos::deep_copy(values, 1.0F);
  return values;
}

void check_bags_of(benchmark::State& state, Suite& suite, const Case& shape) {
  const Problem& problem = suite.start(shape);
  const auto keys = array_of(suite.exec(), std::vector<KeyRange>(problem.table_rows.begin(), problem.table_rows.end()),
                             "shardmark::bench_keys");
  const auto run = [&](std::size_t batch) {
    const auto& ids = problem.batches[batch].ids;
    check_bags<Exec, std::int64_t>(suite.exec(), BoundsCheck::on, {problem.first_bag, problem.offsets, ids, {}}, ids,
                                   keys);
  };
  measure(state, suite, run, check_bags_work(problem.bags(), problem.ids(), false, 8), {});
}

/// Gradients per id of the maxima, or of the weights of a sum.
void gradients_of(benchmark::State& state, Suite& suite, const Case& shape, Pooling pooling) {
  const Problem& problem = suite.start(shape);
  const WordRows rows = suite.rows(ValueType::fp32);
  const std::int64_t dim = shape.dim;
  std::vector<PooledGradient> blocks(static_cast<std::size_t>(problem.tables()));
  std::int64_t id_gradient = 0;
  for (std::int64_t t = 0; t < problem.tables(); ++t) {
    auto& block = blocks[t];
    block.first_bag = t * problem.batch;
    block.bags = problem.batch;
    block.rows = rows.words + problem.first_key[t] * rows.row_words;
    block.dim = block.output_stride = block.gradient_stride = dim;
    block.output = block.gradient = t * dim * problem.batch;
    block.pooling = pooling;
    block.id_gradient = id_gradient;
    id_gradient += problem.batch * shape.tables[t].hotness * dim;
  }
  const auto device_blocks = array_of(suite.exec(), blocks, "shardmark::bench_blocks");
  const bool maxima = pooling == Pooling::max;
  const auto vectors = ones(problem.elements());
  const auto output = ones(maxima ? id_gradient : problem.ids());
  const auto run = [&](std::size_t batch) {
    const auto& ids = problem.batches[batch].ids;
    if (maxima)
      max_gradients<Exec>(suite.exec(), device_blocks, problem.offsets, ids, {}, vectors, vectors, output);
    else
      weight_gradients<Exec>(suite.exec(), device_blocks, problem.offsets, ids, {}, vectors, output);
  };
  const LookupCounts counts{.bags = problem.bags(),
                            .ids = problem.ids(),
                            .id_elements = problem.ids() * dim,
                            .unique_bytes = problem.distinct() * dim * 4,
                            .output_elements = problem.elements()};
  measure(state, suite, run, maxima ? max_gradients_work(counts, false, 8) : weight_gradients_work(counts, false, 8),
          {gather_ceiling(suite, rows)});
}

/// The vectors of every id of a batch; fp32 is the copy that the other types are held against.
void wire_codec_of(benchmark::State& state, Suite& suite, const Case& shape, ValueType type, bool decode) {
  const Problem& problem = suite.start(shape);
  const std::int64_t rows = problem.ids();
  const auto vectors = ones(rows * shape.dim);
  const Array<Exec, char> wire("shardmark::bench_wire", static_cast<std::size_t>(rows * row_bytes(type, shape.dim)));
  const auto blocks = array_of(suite.exec(), std::vector<WireBlock>{{0, rows, shape.dim, 0, 0}}, "shardmark::bench");
  const auto run = [&](std::size_t) {
    if (decode)
      decode_wire<Exec>(suite.exec(), type, rows, blocks, wire, vectors);
    else
      encode_wire<Exec>(suite.exec(), type, rows, blocks, vectors, wire);
  };
  const Work work = decode ? decode_wire_work(type, rows, shape.dim) : encode_wire_work(type, rows, shape.dim);
  measure(state, suite, run, work, {copy_ceiling(suite, work)});
}

/// Of every bag a vector for each of two owners (VectorPiece), table after table.
void vector_pieces_of(benchmark::State& state, Suite& suite, const Case& shape, bool unpack) {
  const Problem& problem = suite.start(shape);
  constexpr std::int64_t owners = 2;
  std::vector<VectorPiece> pieces;
  std::vector<Partial> partials;
  for (std::int64_t t = 0; t < problem.tables(); ++t) {
    const std::int64_t first_row = t * problem.batch, element = first_row * shape.dim;
    pieces.push_back({first_row, problem.batch, shape.dim, element, shape.dim, t * owners, owners});
    for (std::int64_t k = 0; k < owners; ++k) partials.push_back({.packed = k * problem.elements() + element});
  }
  const auto device_pieces = array_of(suite.exec(), pieces, "shardmark::bench_pieces");
  const Partials<Exec> device_partials{array_of(suite.exec(), partials, "shardmark::bench_partials"), {}};
  const auto home = ones(problem.elements()), packed = ones(owners * problem.elements());
  const auto run = [&](std::size_t) {
    if (unpack)
      sum_partials<Exec>(suite.exec(), device_pieces, device_partials, problem.bags(), packed, home);
    else
      copy_to_partials<Exec>(suite.exec(), device_pieces, device_partials, problem.bags(), home, packed);
  };
  const Work work = unpack ? sum_partials_work(problem.elements(), owners * problem.elements())
                           : copy_to_partials_work(problem.elements(), owners * problem.elements());
  measure(state, suite, run, work, {copy_ceiling(suite, work)});
}

}  // namespace

void add_bag_kernels(Suite& suite, const Case& shape, ValueType type) {
  const std::string name = "/" + Problem::name(shape, type, suite.options());
  for (const bool decode : {false, true})
    add((decode ? "decode_wire" : "encode_wire") + name,
        [&suite, &shape, type, decode](auto& state) { wire_codec_of(state, suite, shape, type, decode); });
  if (type != ValueType::fp32) return;
  for (const bool unpack : {false, true})
    add((unpack ? "unpack_vectors" : "pack_vectors") + name,
        [&suite, &shape, unpack](auto& state) { vector_pieces_of(state, suite, shape, unpack); });
  add("check_bags" + name, [&suite, &shape](auto& state) { check_bags_of(state, suite, shape); });
  add("max_gradients" + name, [&suite, &shape](auto& state) { gradients_of(state, suite, shape, Pooling::max); });
  add("weight_gradients" + name, [&suite, &shape](auto& state) { gradients_of(state, suite, shape, Pooling::sum); });
}

}  // namespace shardmark::kernels::bench
