// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/case_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"

namespace shardmark::workloads {
namespace {

/// Returns what the wire did to the vectors of all ranks.
results::VectorError wire_error(const comm::Communicator& comm, const kernels::VectorErrors& own) {
  const double squares = comm::all_reduce(comm, own.squares, comm::Reduce::sum);
  const double error_squares = comm::all_reduce(comm, own.error_squares, comm::Reduce::sum);
  return {.max = comm::all_reduce(comm, own.largest, comm::Reduce::max),
          .rms = squares > 0.0 ? std::sqrt(error_squares / squares) : 0.0};
}

}  // namespace

/// Returns whether two cases have one reference. Its values depend on the storage of the tables and how stale rows may
/// be, its bounds on the wire types.
bool CaseChecks::share_reference(std::size_t one, std::size_t other) const {
  const Case &a = job_.cases[one].config, &b = job_.cases[other].config;
  if (follows_case(job_.options, a.async) || follows_case(job_.options, b.async)) return one == other;
  const auto tables_of = [&](std::size_t c) { return std::span(job_.planned(c).options.workload.tables); };
  return a.movement.wire == b.movement.wire && a.dense_math == b.dense_math && a.storage == b.storage &&
         a.async.most_stale() == b.async.most_stale() &&
         std::ranges::equal(tables_of(one), tables_of(other), {}, &Table::storage, &Table::storage);
}

/// Returns the first of the cases that have each reference.
std::vector<std::size_t> CaseChecks::references(const std::vector<std::size_t>& cases) const {
  std::vector<std::size_t> firsts;
  for (const std::size_t c : cases)
    if (std::ranges::none_of(firsts, [&](std::size_t first) { return share_reference(first, c); })) firsts.push_back(c);
  return firsts;
}

/// Returns the time of the rank whose clock is furthest.
double CaseChecks::now() const { return comm::all_reduce(job_.comm, MPI_Wtime(), comm::Reduce::max); }

void CaseChecks::check(const std::vector<std::size_t>& cases, std::int64_t steps, std::int64_t Checked::*count,
                       const std::function<bool(std::size_t)>& wanted) {
  const auto is_wanted = [&](std::size_t c) {
    states_[c].left_out = states_[c].left_out || !wanted(c);
    return !states_[c].left_out;
  };
  for (const std::size_t first : references(cases)) {
    if (!is_wanted(first)) {
      for (const std::size_t c : cases)
        if (share_reference(first, c)) states_[c].left_out = true;
      continue;
    }
    hooks_.status("computing the reference");
    const double begin = now();
    Expectation expectation = comm::agree(job_.comm, [&] {
      return Expectation(job_.comm, job_.planned(first).options, batches_, job_.cases[first].config, steps);
    });
    reference_seconds_ += now() - begin;
    std::optional<std::map<std::string, std::int64_t>> unjudged;  // the same for all that share the reference
    for (const std::size_t c : cases) {
      if (!share_reference(first, c) || (c != first && !is_wanted(c))) continue;
      if (hooks_.interrupted()) return;
      hooks_.status(fmt::format("checking {}", job_.name_of(c)));
      const double before = now();
      check_case(c, expectation);
      if (!unjudged) unjudged = expectation.unjudged();
      states_[c].checked.unjudged = *unjudged;
      states_[c].check_seconds = now() - before;
      states_[c].checked.*count = steps;
    }
  }
}

void CaseChecks::check_case(std::size_t number, Expectation& expectation) {
  prepared_.hold(job_.cases[number].plan);
  ReadyCase& ready = prepared_.ready(number);
  Checked& checked = states_[number].checked;
  const RowValues initial = job_.planned(number).options.row_values();
  ready.watch_wire(true);
  const WrongValues wrong =
      ready.pipeline
          ? find_wrong(job_.comm, expectation, initial, *ready.pipeline, ready.dense, prepared_.step_batches())
          : find_wrong(job_.comm, expectation, initial, ready.flight, ready.dense, prepared_.inputs());
  checked.wrong.add(wrong.count, wrong.first);
  ready.watch_wire(false);
  checked.wire_error = results::WireError{wire_error(job_.comm, ready.wire_error(Direction::forward)),
                                          wire_error(job_.comm, ready.wire_error(Direction::backward))};
}

}  // namespace shardmark::workloads
