// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "workloads/step/training_step.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark::workloads {
namespace {

/// Names the batch that a step took, and how many updates its rows lack.
struct StepTaken {
  std::int64_t step, batch, stale = 0;
};

void compare_outputs(const Expectation& expectation, const StepTaken& taken, const Flight& flight,
                     const StepInput& input, WrongValues& wrong) {
  for (std::int64_t f = 0; f + 1 < std::ssize(input.first_element); ++f) {
    const auto output = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), flight.output(input, f));
    const ExpectedOutputs& expected = expectation.output(taken.batch, f, taken.stale);
    const std::int64_t elements = expected.bags() * expected.dim();
    const auto feature = [&] {
      return fmt::format("output of feature {} in step {}", expectation.name_of_feature(f), taken.step);
    };
    if (static_cast<std::int64_t>(output.extent(0)) != elements)
      return wrong.add(elements, fmt::format("{} has {} values, expected {}", feature(), output.extent(0), elements));
    const std::span<const float> vectors(output.data(), output.extent(0));
    Closeness& kind = wrong.closeness[fmt::format("output {}", name_of(expectation.wire().forward))];
    for (std::int64_t b = 0; b < expected.bags(); ++b)
      wrong.compare(kind, reference::row_of(vectors, b, expected.dim()), expected.values(b), expected.bounds(b),
                    [&](std::size_t column) {
                      return fmt::format("{}, vector {} of the rank, column {}", feature(), b, column);
                    });
  }
}

/// Compares rows of one part of a shard that the reference touched, the columns held here, with their expected values
/// and state.
void compare_rows(const reference::TouchedTable& expected, const RowValues& initial, const Store& store,
                  std::int64_t number, std::int64_t part, WrongValues& wrong) {
  reference::TouchedTable fresh = expected.untouched();
  const ShardPart shard = store.parts(number)[part];
  std::vector<std::int64_t> slots, local_rows;
  for (std::int64_t slot = 0; slot < std::ssize(expected.rows()); ++slot) {
    const std::int64_t row = expected.rows()[slot];
    if (!shard.rows.contains(row)) continue;
    slots.push_back(slot);
    local_rows.push_back(shard.rows.local(row));
  }
  const auto [values, state] = store.read_rows(number, part, local_rows);
  const auto dim = static_cast<std::size_t>(shard.dim());
  const auto state_size = static_cast<std::size_t>(state_per_row(expected.table().optimizer.kind, shard.dim()));
  const auto first = static_cast<std::size_t>(shard.column_begin);
  const auto& optimizer = choice_of(expected.table().optimizer.kind);
  const auto full_dim = static_cast<std::size_t>(expected.table().dim);

  const std::string kind = fmt::format("{} {}", optimizer.name, name_of(expected.table().value_type));
  Closeness &of_rows = wrong.closeness["row " + kind], &of_states = wrong.closeness["state " + kind];
  std::int64_t changed = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::int64_t row = expected.rows()[slots[i]];
    const auto row_values = std::span(values).subspan(i * dim, dim);
    const auto which = [&](std::string_view what, std::size_t column) {
      return fmt::format("{}table {}, row {}, column {}", what, expected.table().name, row, column);
    };
    wrong.compare(of_rows, row_values, expected.values(slots[i]).subspan(first, dim),
                  expected.value_bounds(slots[i]).subspan(first, dim),
                  [&](std::size_t column) { return which("", first + column); });
    const auto compare_state = [&](std::size_t at, std::size_t expected_at, std::size_t count) {
      wrong.compare(of_states, std::span(state).subspan(i * state_size + at, count),
                    expected.state(slots[i]).subspan(expected_at, count),
                    expected.state_bounds(slots[i]).subspan(expected_at, count),
                    [&](std::size_t column) { return which("optimizer state of ", first + column); });
    };
    const auto vectors = static_cast<std::size_t>(optimizer.vectors);
    for (std::size_t v = 0; v < vectors; ++v) compare_state(v * dim, v * full_dim + first, dim);
    compare_state(vectors * dim, vectors * full_dim, state_size - vectors * dim);  // beside every column range
    const auto bits = [](float value) {
      return std::bit_cast<std::uint32_t>(value);
    };  // Store::changed_rows tells -0 from 0
    changed += !std::ranges::equal(row_values, fresh.values(fresh.touch(row)).subspan(first, dim), {}, bits, bits);
  }
  const std::int64_t unrequested = store.changed_rows(number, part, initial) - changed;
  wrong.add(unrequested, fmt::format("{} rows of table {} changed although no id asked for them", unrequested,
                                     expected.table().name));
}

/// Compares which keys of a shard have rows, when these were used last, and how often.
void compare_keys(const reference::DynamicTable& expected, const std::string& name, const Store& store,
                  std::int64_t number, WrongValues& wrong) {
  const placement::HeldRows held = store.parts(number).front().rows;
  std::map<std::int64_t, RowUse> live;
  for (const LiveRow& row : store.live_rows(number)) live.emplace(row.key, row.use);
  for (const auto& [key, row] : expected.rows()) {
    if (!held.contains(key)) continue;
    const auto found = live.find(key);
    if (found == live.end()) {
      wrong.add(1, fmt::format("table {} has no row of key {}", name, key));
      continue;
    }
    if (found->second != row.use)
      wrong.add(1, fmt::format("key {} of table {} was used {} times, last in step {}, expected {}, in step {}", key,
                               name, found->second.uses, found->second.last, row.use.uses, row.use.last));
    live.erase(found);
  }
  if (!live.empty())
    wrong.add(std::ssize(live), fmt::format("table {} has a row of key {}, which is to have none, beside {} others",
                                            name, live.begin()->first, live.size() - 1));
}

}  // namespace

ExpectedOutputs::ExpectedOutputs(reference::Oracle& oracle, const Batch& batch, std::int64_t number,
                                 const Feature& feature, SampleRange own, std::int64_t dim)
    : dim_(dim) {
  std::unordered_map<std::string, std::int64_t> seen;  // by the bytes of ids and weights
  reference::for_each_bag(batch, number, feature, own.first, own.count, [&](const reference::Bag& bag) {
    std::string key(reinterpret_cast<const char*>(bag.ids.data()), bag.ids.size_bytes());
    key.append(reinterpret_cast<const char*>(bag.weights.data()), bag.weights.size_bytes());
    const auto [entry, is_new] = seen.try_emplace(std::move(key), std::ssize(seen));
    if (is_new) oracle.look_up(bag, number, expected_);
    vector_of_.push_back(entry->second);
  });
  expected_.values.shrink_to_fit();
  expected_.bounds.shrink_to_fit();
}

bool follows_case(const RunOptions& options, const Async& async) {
  return !async.in_order() || (options.dense.kind != DenseKind::none && async.most_stale() > 0);
}

Expectation::Expectation(const comm::Communicator& comm, const RunOptions& options, BatchSource& batches,
                         WireTypes wire, std::optional<std::int64_t> steps, const Async& async, DenseMath math)
    : comm_(comm),
      options_(options),
      batches_(batches),
      own_(samples_of(options.workload.global_batch, comm.size(), comm.rank())),
      wire_(wire),
      most_stale_(async.most_stale()),
      follows_(follows_case(options, async)),
      oracle_(options.workload.tables, options.workload.features, options.row_values(), options.gradients(), wire),
      outputs_(static_cast<std::size_t>(steps.value_or(options.checked_steps))) {
  taken_.resize(outputs_.size());
  if (options.dense.kind != DenseKind::none) dense_ = std::make_unique<ExpectedDense>(comm, options, wire, math);
  while (!follows() && step_ < this->steps()) follow(step_, 0);
}

/// Looks up the outputs in the tables as they are now; those of tables that no step may see any more are given up.
void Expectation::look_up(const Batch& batch, std::int64_t number) {
  auto& versions = outputs_[number];
  if (std::ssize(versions) > most_stale_) versions.pop_back();
  auto& outputs = *versions.emplace(versions.begin());
  for (std::int64_t f = 0; f < batch.features; ++f) {
    const Feature& feature = options_.workload.features[f];
    enter("the reference's lookup of feature " + feature.name);
    outputs.emplace_back(oracle_, batch, f, feature, own_, options_.workload.tables[feature.table].dim);
  }
}

void Expectation::follow(std::int64_t batch, std::int64_t stale) {
  const std::int64_t step = step_++, global_batch = options_.workload.global_batch;
  taken_[batch] = true;
  const datasets::Samples samples = comm::agree(comm_, [&] {
    if (most_stale_ > 0)
      for (std::int64_t later = 0; later < std::min(step + most_stale_ + 1, steps()); ++later)
        if (!taken_[later]) look_up(batches_.read(later, 0, global_batch).batch, later);
    datasets::Samples read = batches_.read(batch, 0, global_batch);
    oracle_.bring(read.batch, step);
    look_up(read.batch, batch);
    if (dense_) dense_->evaluate(read, own_, outputs_[batch].at(stale));
    return read;
  });
  const auto gradients = dense_ ? dense_->share(step) : reference::bag_gradients(options_.gradients(), batch);
  comm::agree(comm_, [&] {
    oracle_.update(samples.batch, step, gradients, [&](std::int64_t t) {
      enter("the reference's update of table " + options_.workload.tables[t].name);
    });
  });
}

namespace {

std::int64_t unjudged_values(const reference::TouchedTable& table) {
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
  std::int64_t unjudged = 0;
  for (std::int64_t slot = 0; slot < std::ssize(table.rows()); ++slot) {
    const auto values = table.values(slot), bounds = table.value_bounds(slot);
    for (std::size_t c = 0; c < values.size(); ++c)
      unjudged += bounds[c] < usual && is_testable(values[c], bounds[c]) ? 0 : 1;
  }
  return unjudged;
}

}  // namespace

std::map<std::string, std::int64_t> Expectation::unjudged() const {
  std::map<std::string, std::int64_t> unjudged;
  const auto add = [&](const std::string& name, const reference::TouchedTable& part) {
    if (const std::int64_t count = unjudged_values(part); count > 0) unjudged[name] += count;
  };
  for (std::int64_t t = 0; t < std::ssize(options_.workload.tables); ++t)
    for (const reference::TouchedTable& part : parts(t)) add(options_.workload.tables[t].name, part);
  if (dense_)
    for (const reference::TouchedTable& block : dense_->parameters()) add(block.table().name, block);
  return unjudged;
}

namespace {

/// Compares outputs, logits and loss.
void compare_step(const Expectation& expectation, const StepTaken& taken, const Flight& flight, const DenseModel& dense,
                  const StepInput& input, WrongValues& wrong) {
  compare_outputs(expectation, taken, flight, input, wrong);
  if (expectation.dense() != nullptr) expectation.dense()->compare_outcomes(taken.step, dense, wrong);
}

/// Returns the wrong values of tables and weights after the last expected step, beside all that was wrong before.
WrongValues wrong_in_all(const comm::Communicator& comm, const Expectation& expectation, const RowValues& initial,
                         const ShardedTables& tables, const DenseModel& dense, WrongValues wrong) {
  if (expectation.dense() != nullptr) expectation.dense()->compare_parameters(dense, wrong);
  for (std::int64_t s = 0; s < std::ssize(tables.layout().shards); ++s) {
    enter("comparing a shard with the reference");
    const std::int64_t table = tables.layout().shards[s].table;
    if (const auto* dynamic = expectation.dynamic(table))
      compare_keys(*dynamic, tables.tables()[table].name, tables.store_of(s), s, wrong);
    const auto parts = expectation.parts(table);
    for (std::int64_t part = 0; part < std::ssize(parts); ++part)
      compare_rows(parts[part], initial, tables.store_of(s), s, part, wrong);
  }
  return of_all(comm, wrong);
}

}  // namespace

WrongValues find_wrong(const comm::Communicator& comm, const Expectation& expectation, const RowValues& initial,
                       Flight& flight, DenseModel& dense, const std::vector<StepInput>& inputs) {
  ShardedTables& tables = flight.embedding().tables();
  tables.fill(initial);
  dense.reset();
  WrongValues wrong;
  for (std::int64_t step = 0; step < expectation.steps(); ++step) {
    training_step(flight, inputs[step], dense);
    compare_step(expectation, {.step = step, .batch = step}, flight, dense, inputs[step], wrong);
  }
  return wrong_in_all(comm, expectation, initial, tables, dense, std::move(wrong));
}

WrongValues find_wrong(const comm::Communicator& comm, Expectation& expectation, const RowValues& initial,
                       Pipeline& pipeline, DenseModel& dense, const StepBatches& batches) {
  ShardedTables& tables = pipeline.tables();
  tables.fill(initial);
  dense.reset();
  pipeline.start(batches, 0, expectation.steps());
  WrongValues wrong;
  for (std::int64_t step = 0; step < expectation.steps(); ++step) {
    pipeline.step(dense);
    const StepTaken taken{step, pipeline.ticket(), pipeline.staleness()};
    try {
      if (expectation.follows()) expectation.follow(taken.batch, taken.stale);
    } catch (const comm::Agreed&) {  // on all ranks, which take the other steps: else threads are left in exchanges
      while (++step < expectation.steps()) pipeline.step(dense);
      pipeline.finish();
      throw;
    }
    compare_step(expectation, taken, pipeline.flight(), dense, pipeline.input(), wrong);
  }
  pipeline.finish();
  return wrong_in_all(comm, expectation, initial, tables, dense, std::move(wrong));
}

}  // namespace shardmark::workloads
