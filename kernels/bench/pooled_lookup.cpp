// SPDX-License-Identifier: Apache-2.0
#include "kernels/pooled_lookup.hpp"

#include "kernels/bench/suite.hpp"

namespace shardmark::kernels::bench {
namespace {

/// Output [tables, batch, dim] (feature) or [batch, tables, dim] (batch).
enum class Major { feature, batch };

template <class Index>
void pooled_lookup_of(benchmark::State& state, Suite& suite, const Case& shape, Array<Exec, Index> IdBatch::*indices,
                      Major major) {
  const Problem& problem = suite.start(shape);
  const auto rows = suite.rows();
  const Array<Exec, float> output("shardmark::bench_output", static_cast<std::size_t>(problem.elements()));
  const std::int64_t stride = major == Major::feature ? shape.dim : problem.tables() * shape.dim;
  std::vector<LookupBlock> blocks;
  for (std::int64_t t = 0; t < problem.tables(); ++t)
    blocks.push_back({.first_bag = t * problem.batch,
                      .bags = problem.batch,
                      .rows = rows.data() + problem.first_key[static_cast<std::size_t>(t)] * shape.dim,
                      .dim = shape.dim,
                      .output = t * shape.dim * (major == Major::feature ? problem.batch : 1),
                      .output_stride = stride});
  const auto device_blocks = array_of(suite.exec(), blocks, "shardmark::bench_blocks");
  const auto run = [&](std::size_t batch) {
    pooled_lookup<Exec>(suite.exec(), device_blocks, problem.offsets, problem.batches[batch].*indices, {}, output);
  };
  const LookupCounts counts{.bags = problem.bags(),
                            .ids = problem.ids(),
                            .id_elements = problem.ids() * shape.dim,
                            .unique_bytes = problem.distinct() * shape.dim * 4,
                            .output_elements = problem.elements()};
  const WordRows words{reinterpret_cast<std::uint32_t*>(rows.data()), shape.dim};
  measure(state, suite, run, pooled_lookup_work(counts, false, sizeof(Index)), {gather_ceiling(suite, words)});
}

}  // namespace

void add_pooled_lookup(Suite& suite, const Case& shape) {
  const std::string name = "pooled_lookup/" + Problem::name(shape, suite.options()) + "/values:fp32";
  add(name + "/ids:int64/major:feature",
      [&](auto& state) { pooled_lookup_of(state, suite, shape, &IdBatch::ids, Major::feature); });
  add(name + "/ids:int32/major:feature",
      [&](auto& state) { pooled_lookup_of(state, suite, shape, &IdBatch::ids32, Major::feature); });
  if (shape.tables.size() > 1)
    add(name + "/ids:int64/major:batch",
        [&](auto& state) { pooled_lookup_of(state, suite, shape, &IdBatch::ids, Major::batch); });
}

}  // namespace shardmark::kernels::bench
