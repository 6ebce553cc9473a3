// SPDX-License-Identifier: Apache-2.0
#include "kernels/lookup/pooled_lookup.hpp"

#include "kernels/bench/suite.hpp"

namespace shardmark::kernels::bench {
namespace {

/// Output [tables, batch, dim] (feature) or [batch, tables, dim] (batch).
enum class Major { feature, batch };

struct Lookup {
  const Case& shape;
  ValueType type;
  Major major;
};

template <class Index>
void pooled_lookup_of(benchmark::State& state, Suite& suite, const Lookup& of, Array<Exec, Index> IdBatch::*indices) {
  const Problem& problem = suite.start(of.shape);
  const std::int64_t dim = of.shape.dim;
  const WordRows rows = suite.rows(of.type);
  const Array<Exec, float> output("shardmark::bench_output", static_cast<std::size_t>(problem.elements()));
  const bool by_feature = of.major == Major::feature;
  std::vector<LookupBlock> blocks;
  for (std::int64_t t = 0; t < problem.tables(); ++t)
    blocks.push_back({.first_bag = t * problem.batch,
                      .bags = problem.batch,
                      .rows = rows.words + problem.first_key[t] * rows.row_words,
                      .value_type = of.type,
                      .dim = dim,
                      .output = t * dim * (by_feature ? problem.batch : 1),
                      .output_stride = dim * (by_feature ? 1 : problem.tables())});
  const auto device_blocks = array_of(suite.exec(), blocks, "shardmark::bench_blocks");
  const auto run = [&](std::size_t batch) {
    pooled_lookup<Exec>(suite.exec(), device_blocks, problem.offsets, problem.batches[batch].*indices, {}, output);
  };
  const LookupCounts counts{.bags = problem.bags(),
                            .ids = problem.ids(),
                            .id_elements = problem.ids() * dim,
                            .unique_bytes = problem.distinct() * row_bytes(of.type, dim),
                            .output_elements = problem.elements()};
  measure(state, suite, run, pooled_lookup_work(counts, false, sizeof(Index)), {gather_ceiling(suite, rows)});
}

}  // namespace

void add_pooled_lookup(Suite& suite, const Case& shape, ValueType type) {
  const std::string name = "pooled_lookup/" + Problem::name(shape, type, suite.options());
  const Lookup by_feature{shape, type, Major::feature};
  const Lookup by_batch{shape, type, Major::batch};
  add(name + "/ids:int64/major:feature",
      [&suite, by_feature](auto& state) { pooled_lookup_of(state, suite, by_feature, &IdBatch::ids); });
  if (type != ValueType::fp32) return;
  add(name + "/ids:int32/major:feature",
      [&suite, by_feature](auto& state) { pooled_lookup_of(state, suite, by_feature, &IdBatch::ids32); });
  if (shape.tables.size() == 1) return;
  add(name + "/ids:int64/major:batch",
      [&suite, by_batch](auto& state) { pooled_lookup_of(state, suite, by_batch, &IdBatch::ids); });
}

}  // namespace shardmark::kernels::bench
