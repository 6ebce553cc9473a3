// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/async_record.hpp"

#include <array>
#include <cmath>

#include "comm/collectives.hpp"
#include "results/async_fields.hpp"

namespace shardmark::workloads {
namespace {

namespace names = results::async_fields;
using AsyncJson = nlohmann::ordered_json;

double to_nanoseconds(double ms) { return std::round(1e6 * ms) / 1e6; }

double per_one(double seconds, std::int64_t count) {
  return count > 0 ? to_nanoseconds(1e3 * seconds / static_cast<double>(count)) : 0.0;
}

double share(std::int64_t part, std::int64_t of_all) {
  return std::round(1e4 * static_cast<double>(part) / static_cast<double>(of_all)) / 1e4;
}

AsyncJson stalls_of(const PipelineCounts& counts) {
  const auto waited = [&](AheadStage stage) {
    return per_one(counts.wait_seconds[static_cast<std::size_t>(stage)], counts.prepared);
  };
  return {{names::batch, per_one(counts.starved_seconds, counts.steps)},
          {names::update, per_one(counts.held_seconds, counts.steps)},
          {names::place, waited(AheadStage::read)},
          {names::turn, waited(AheadStage::agree)},
          {names::version, waited(AheadStage::look_up)}};
}

}  // namespace

double AsyncFacts::prepare_seconds() const {
  double seconds = 0.0;
  for (const double of_stage : counts.work_seconds) seconds += of_stage;
  return counts.prepared > 0 ? seconds / static_cast<double>(counts.prepared) : 0.0;
}

double AsyncFacts::step_seconds() const {
  return counts.steps > 0 ? main_seconds / static_cast<double>(counts.steps) : 0.0;
}

void add_facts(const comm::Communicator& comm, const Pipeline& pipeline, AsyncFacts& facts) {
  PipelineCounts counts = pipeline.counts();
  std::array<double, 2 * ahead_stages + 3> seconds{counts.starved_seconds, counts.held_seconds,
                                                   pipeline.main_seconds()};
  std::ranges::copy(counts.work_seconds, seconds.begin() + 3);
  std::ranges::copy(counts.wait_seconds, seconds.begin() + 3 + ahead_stages);
  comm::all_reduce(comm, std::span<double>(seconds), comm::Reduce::max);
  counts.starved_seconds = seconds[0];
  counts.held_seconds = seconds[1];
  std::copy_n(seconds.begin() + 3, ahead_stages, counts.work_seconds.begin());
  std::copy_n(seconds.begin() + 3 + ahead_stages, ahead_stages, counts.wait_seconds.begin());
  facts.shape = pipeline.shape();
  facts.config = pipeline.config();
  facts.reads = pipeline.reads();
  facts.processing_units = comm::all_gather(comm, pipeline.processing_units());
  facts.counts += counts;
  facts.main_seconds += seconds[2];
  facts.patched += {comm::all_reduce(comm, pipeline.patched().vectors, comm::Reduce::sum),
                    comm::all_reduce(comm, pipeline.patched().again, comm::Reduce::sum)};
  facts.buffered_bytes =
      std::max(facts.buffered_bytes, comm::all_reduce(comm, pipeline.buffered_bytes(), comm::Reduce::max));
}

AsyncJson async_details(const AsyncFacts& facts, double step_ms) {
  const PipelineCounts& counts = facts.counts;
  const bool inlined = facts.shape.inlined();
  AsyncJson json{{names::pool, facts.config.pool.name()},
                 {names::threads, facts.shape.threads},
                 {names::capacity, inlined ? 0 : facts.shape.capacity}};
  if (!inlined && std::ranges::any_of(facts.processing_units, [](const auto& units) { return !units.empty(); }))
    json[names::processing_units] = facts.processing_units;
  if (facts.shape.looks_up && !inlined) json[names::bound] = facts.shape.bound;
  if (!facts.shape.in_order && counts.steps > 0) json[names::overtaking] = share(counts.overtaking, counts.steps);
  json[names::staleness] = {{names::p50, counts.staleness.quantile(0.5)},
                            {names::p99, counts.staleness.quantile(0.99)},
                            {names::max, counts.staleness.largest()},
                            {names::counts, counts.staleness.counts()}};
  json[names::depth] = {{names::mean, to_nanoseconds(counts.depth.mean())}, {names::max, counts.depth.largest()}};
  json[names::stalls] = stalls_of(counts);
  const double prepare = facts.prepare_seconds(), main = facts.step_seconds();
  const double formula_ms = 1e3 / predicted_rate(facts.shape.threads, prepare, main);
  if (facts.reads)
    json[names::read_ms] = per_one(counts.work_seconds[static_cast<std::size_t>(AheadStage::read)], counts.prepared);
  json[names::prepare_ms] = to_nanoseconds(1e3 * prepare);
  json[names::main_ms] = to_nanoseconds(1e3 * main);
  json[names::predicted_ms] = to_nanoseconds(formula_ms);
  json[names::error] = std::round(1e4 * (formula_ms / step_ms - 1.0)) / 1e4;
  if (facts.patched.vectors > 0) json[names::again] = share(facts.patched.again, facts.patched.vectors);
  json[names::buffered_bytes] = facts.buffered_bytes;
  return json;
}

}  // namespace shardmark::workloads
