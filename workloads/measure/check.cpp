// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/check.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "workloads/step/training_step.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark {
namespace {

/// Differs by more than the bound, or is not a number where there is one. A formula may have none: 0 / 0, of an
/// optimizer whose epsilon and sum of squares are 0.
bool differs(float actual, float expected, float bound) {
  if (std::isnan(expected) && std::isfinite(bound)) return !std::isnan(actual);
  return is_told(expected, bound) && !(std::abs(static_cast<double>(actual) - expected) <= static_cast<double>(bound));
}

std::int64_t count_differing(std::span<const float> actual, std::span<const float> expected,
                             std::span<const float> bounds) {
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) wrong += differs(actual[i], expected[i], bounds[i]) ? 1 : 0;
  return wrong;
}

/// Which batch a step took, and how many updates its rows lack.
struct StepTaken {
  std::int64_t step, batch, stale = 0;
};

std::int64_t wrong_outputs(const Expectation& expectation, const StepTaken& taken, const Flight& flight,
                           const StepInput& input) {
  std::int64_t wrong = 0;
  for (std::int64_t f = 0; f + 1 < std::ssize(input.first_element); ++f) {
    const auto output = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), flight.output(input, f));
    const ExpectedOutputs& expected = expectation.output(taken.batch, f, taken.stale);
    const std::int64_t elements = expected.bags() * expected.dim();
    if (static_cast<std::int64_t>(output.extent(0)) != elements) return elements;
    const std::span<const float> vectors(output.data(), output.extent(0));
    for (std::int64_t b = 0; b < expected.bags(); ++b)
      wrong += count_differing(reference::row_of(vectors, b, expected.dim()), expected.values(b), expected.bounds(b));
  }
  return wrong;
}

/// Rows of one part of a shard that the reference touched, the columns held here, against their expected values and
/// state.
std::int64_t wrong_rows(const reference::TouchedTable& expected, const RowValues& initial, const Store& store,
                        std::int64_t number, std::int64_t part) {
  reference::TouchedTable fresh = expected.untouched();
  const ShardPart shard = store.parts(number)[part];
  std::vector<std::int64_t> slots, local_rows;
  for (std::int64_t slot = 0; slot < std::ssize(expected.rows()); ++slot) {
    const std::int64_t row = expected.rows()[slot];
    if (!shard.rows.contains(row)) continue;
    slots.push_back(slot);
    local_rows.push_back(shard.rows.local(row));
  }
  const auto values = store.read_rows(number, part, local_rows);
  const auto state = store.read_state(number, part, local_rows);
  const auto dim = static_cast<std::size_t>(shard.dim());
  const auto state_size = static_cast<std::size_t>(state_per_row(expected.table().optimizer.kind, shard.dim()));
  const auto first = static_cast<std::size_t>(shard.column_begin);
  const auto& optimizer = choice_of(expected.table().optimizer.kind);
  const auto full_dim = static_cast<std::size_t>(expected.table().dim);

  std::int64_t wrong = 0, changed = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto row_values = std::span(values).subspan(i * dim, dim);
    wrong += count_differing(row_values, expected.values(slots[i]).subspan(first, dim),
                             expected.value_bounds(slots[i]).subspan(first, dim));
    const auto compare_state = [&](std::size_t at, std::size_t expected_at, std::size_t count) {
      wrong += count_differing(std::span(state).subspan(i * state_size + at, count),
                               expected.state(slots[i]).subspan(expected_at, count),
                               expected.state_bounds(slots[i]).subspan(expected_at, count));
    };
    const auto vectors = static_cast<std::size_t>(optimizer.vectors);
    for (std::size_t v = 0; v < vectors; ++v) compare_state(v * dim, v * full_dim + first, dim);
    compare_state(vectors * dim, vectors * full_dim, state_size - vectors * dim);  // beside every column range
    const std::int64_t row = expected.rows()[slots[i]];
    changed += !std::ranges::equal(row_values, fresh.values(fresh.touch(row)).subspan(first, dim));
  }
  return wrong + store.changed_rows(number, part, initial) - changed;
}

}  // namespace

ExpectedOutputs::ExpectedOutputs(reference::Oracle& oracle, const Batch& batch, std::int64_t feature, Pooling pooling,
                                 SampleRange own, std::int64_t dim)
    : dim_(dim) {
  std::unordered_map<std::string, std::int64_t> seen;  // by the bytes of ids and weights
  reference::for_each_bag(batch, feature, pooling, own.first, own.count, [&](const reference::Bag& bag) {
    std::string key(reinterpret_cast<const char*>(bag.ids.data()), bag.ids.size_bytes());
    key.append(reinterpret_cast<const char*>(bag.weights.data()), bag.weights.size_bytes());
    const auto [entry, is_new] = seen.try_emplace(std::move(key), std::ssize(seen));
    if (is_new) oracle.look_up(bag, feature, expected_);
    vector_of_.push_back(entry->second);
  });
  expected_.values.shrink_to_fit();
  expected_.bounds.shrink_to_fit();
}

bool follows_case(const RunOptions& options, const Async& async) {
  return !async.in_order() || (options.dense.kind != DenseKind::none && async.most_stale() > 0);
}

Expectation::Expectation(const Communicator& comm, const RunOptions& options, BatchSource& batches, WireTypes wire,
                         std::optional<std::int64_t> steps, const Async& async)
    : comm_(comm),
      options_(options),
      batches_(batches),
      own_(samples_of(options.workload.global_batch, comm.size(), comm.rank())),
      most_stale_(async.most_stale()),
      follows_(follows_case(options, async)),
      oracle_(options.workload.tables, options.workload.features, options.row_values(), options.gradients(), wire),
      outputs_(static_cast<std::size_t>(steps.value_or(options.checked_steps))) {
  taken_.resize(outputs_.size());
  if (options.dense.kind != DenseKind::none) dense_ = std::make_unique<ExpectedDense>(comm, options, wire);
  while (!follows() && step_ < this->steps()) follow(step_, 0);
}

/// Of the tables as they are now; those of tables that no step may see any more are given up.
void Expectation::look_up(const Batch& batch, std::int64_t number) {
  auto& versions = outputs_[number];
  if (std::ssize(versions) > most_stale_) versions.pop_back();
  auto& outputs = *versions.emplace(versions.begin());
  for (std::int64_t f = 0; f < batch.features; ++f) {
    const Feature& feature = options_.workload.features[f];
    enter("the reference's lookup of feature " + feature.name);
    outputs.emplace_back(oracle_, batch, f, feature.pooling, own_, options_.workload.tables[feature.table].dim);
  }
}

void Expectation::follow(std::int64_t batch, std::int64_t stale) {
  const std::int64_t step = step_++, global_batch = options_.workload.global_batch;
  taken_[batch] = true;
  const Samples samples = agree(comm_, [&] {
    if (most_stale_ > 0)
      for (std::int64_t later = 0; later < std::min(step + most_stale_ + 1, steps()); ++later)
        if (!taken_[later]) look_up(batches_.read(later, 0, global_batch).batch, later);
    Samples read = batches_.read(batch, 0, global_batch);
    look_up(read.batch, batch);
    if (dense_) dense_->evaluate(read, own_, outputs_[batch].at(stale));
    return read;
  });
  oracle_.update(samples.batch, step,
                 dense_ ? dense_->share(step) : reference::bag_gradients(options_.gradients(), batch),
                 [&](std::int64_t t) { enter("the reference's update of table " + options_.workload.tables[t].name); });
}

namespace {

std::int64_t untold_values(const reference::TouchedTable& table) {
  reference::TouchedTable fresh = table.untouched();
  double squares = 0.0;
  std::int64_t changed = 0;
  for (std::int64_t slot = 0; slot < std::ssize(table.rows()); ++slot) {
    const auto values = table.values(slot);
    const auto initial = fresh.values(fresh.touch(table.rows()[slot]));
    for (std::size_t c = 0; c < values.size(); ++c) {
      const double change = static_cast<double>(values[c]) - initial[c];
      if (change == 0.0 || !std::isfinite(change)) continue;
      squares += change * change;
      ++changed;
    }
  }
  const double usual = changed > 0 ? std::sqrt(squares / static_cast<double>(changed)) : INFINITY;
  std::int64_t untold = 0;
  for (std::int64_t slot = 0; slot < std::ssize(table.rows()); ++slot) {
    const auto values = table.values(slot), bounds = table.value_bounds(slot);
    for (std::size_t c = 0; c < values.size(); ++c)
      untold += bounds[c] < usual && is_told(values[c], bounds[c]) ? 0 : 1;
  }
  return untold;
}

}  // namespace

std::map<std::string, std::int64_t> Expectation::untold() const {
  std::map<std::string, std::int64_t> untold;
  const auto add = [&](const std::string& name, const reference::TouchedTable& part) {
    if (const std::int64_t count = untold_values(part); count > 0) untold[name] += count;
  };
  for (std::int64_t t = 0; t < std::ssize(options_.workload.tables); ++t)
    for (const reference::TouchedTable& part : parts(t)) add(options_.workload.tables[t].name, part);
  if (dense_)
    for (const reference::TouchedTable& block : dense_->parameters()) add(block.table().name, block);
  return untold;
}

namespace {

/// Outputs, logits and loss.
std::int64_t wrong_in_step(const Expectation& expectation, const StepTaken& taken, const Flight& flight,
                           const DenseModel& dense, const StepInput& input) {
  const std::int64_t wrong = wrong_outputs(expectation, taken, flight, input);
  return expectation.dense() == nullptr ? wrong : wrong + expectation.dense()->wrong_outcomes(taken.step, dense);
}

/// Of tables and weights after the last expected step, and all that was wrong before.
std::int64_t wrong_in_all(const Communicator& comm, const Expectation& expectation, const RowValues& initial,
                          const ShardedTables& tables, const DenseModel& dense, std::int64_t wrong) {
  if (expectation.dense() != nullptr) wrong += expectation.dense()->wrong_parameters(dense);
  for (std::int64_t s = 0; s < std::ssize(tables.layout().shards); ++s) {
    enter("comparing a shard with the reference");
    const auto parts = expectation.parts(tables.layout().shards[s].table);
    for (std::int64_t part = 0; part < std::ssize(parts); ++part)
      wrong += wrong_rows(parts[part], initial, tables.store_of(s), s, part);
  }
  return all_reduce(comm, wrong, Reduce::sum);
}

}  // namespace

std::int64_t count_wrong(const Communicator& comm, const Expectation& expectation, const RowValues& initial,
                         Flight& flight, DenseModel& dense, const std::vector<StepInput>& inputs) {
  ShardedTables& tables = flight.embedding().tables();
  tables.fill(initial);
  dense.reset();
  std::int64_t wrong = 0;
  for (std::int64_t step = 0; step < expectation.steps(); ++step) {
    training_step(flight, inputs[step], dense);
    wrong += wrong_in_step(expectation, {.step = step, .batch = step}, flight, dense, inputs[step]);
  }
  return wrong_in_all(comm, expectation, initial, tables, dense, wrong);
}

std::int64_t count_wrong(const Communicator& comm, Expectation& expectation, const RowValues& initial,
                         Pipeline& pipeline, DenseModel& dense, const StepBatches& batches) {
  ShardedTables& tables = pipeline.tables();
  tables.fill(initial);
  dense.reset();
  pipeline.start(batches, 0, expectation.steps());
  std::int64_t wrong = 0;
  for (std::int64_t step = 0; step < expectation.steps(); ++step) {
    pipeline.step(dense);
    const StepTaken taken{step, pipeline.ticket(), pipeline.staleness()};
    if (expectation.follows()) expectation.follow(taken.batch, taken.stale);
    wrong += wrong_in_step(expectation, taken, pipeline.flight(), dense, pipeline.input());
  }
  pipeline.finish();
  return wrong_in_all(comm, expectation, initial, tables, dense, wrong);
}

}  // namespace shardmark
