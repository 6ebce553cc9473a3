// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/step_cost.hpp"

#include <algorithm>
#include <tuple>

#include "reference/storage.hpp"
#include "reference/work.hpp"

namespace shardmark::placement {

namespace {

void add(PhaseBytes& to, const PhaseBytes& other, double sign) {
  to.all += sign * other.all;
  to.node += sign * other.node;
  to.rail += sign * other.rail;
}

void add(RankWork& to, const RankWork& other, double sign) {
  for (std::size_t t = 0; t < to.counts.size(); ++t) to.counts[t] += sign * other.counts[t];
  to.sorted_keys += sign * other.sorted_keys;
  add(to.requested, other.requested, sign);
  add(to.vectors, other.vectors, sign);
  add(to.gradients, other.gradients, sign);
  to.row_sums += sign * other.row_sums;
  to.updated_lines += sign * other.updated_lines;
  to.memory += sign * other.memory;
}

}  // namespace

PhaseBytes& PhaseBytes::operator+=(const PhaseBytes& other) {
  add(*this, other, 1.0);
  return *this;
}

RankWork& RankWork::operator+=(const RankWork& other) {
  add(*this, other, 1.0);
  return *this;
}

RankWork& RankWork::operator-=(const RankWork& other) {
  add(*this, other, -1.0);
  return *this;
}

double sort_digits(const StepContext& step, double sorted_keys) {
  const auto keys = static_cast<std::int64_t>(sorted_keys);
  if (keys == 0) return 0.0;
  return static_cast<double>(step.groups * (std::int64_t{radix_passes(keys)} << radix_digit_bits(keys)));
}

TermCounts finished_counts(const StepContext& step, const RankWork& work) {
  TermCounts counts = work.counts;
  at(counts, Term::sort_digit) = sort_digits(step, work.sorted_keys);
  at(counts, Term::sorted_id) *= radix_passes(static_cast<std::int64_t>(work.sorted_keys));
  for (const Term term :
       {Term::route_step, Term::lookup_step, Term::output_step, Term::gradient_step, Term::update_step})
    at(counts, term) += static_cast<double>(step.groups);
  return counts;
}

std::array<double, phase_count> compute_seconds(const MachineModel& machine, const TermCounts& finished) {
  std::array<double, phase_count> seconds{};
  for (std::size_t t = 0; t < terms.size(); ++t) seconds[index_of(terms[t].phase)] += finished[t] * machine.seconds[t];
  return seconds;
}

namespace {

/// Holds, by table, what decides the work of a table under a placement.
class TableKinds {
 public:
  explicit TableKinds(const StepContext& step) : tables_(step.tables()), reads_(step.tables().size()) {
    for (const Feature& feature : step.features()) reads_[feature.table].push_back(reading_of(feature));
    for (auto& reads : reads_) std::ranges::sort(reads);
  }

  bool alike(const LookupStatistics& statistics, std::int64_t a, std::int64_t b) const {
    const auto key = [&](std::int64_t t) {
      const Table& table = tables_[t];
      return std::tie(table.storage, table.rows, table.dim, table.optimizer.kind, table.value_type, reads_[t]);
    };
    return !storage_of(tables_[a]).computes() && statistics.alike(a, b) && key(a) == key(b);
  }

 private:
  std::span<const Table> tables_;
  std::vector<std::vector<decltype(reading_of(Feature{}))>> reads_;
};

}  // namespace

std::vector<TableRun> runs_of_alike_tables(const StepContext& step, const Plan& plan) {
  const TableKinds kinds(step);
  std::vector<TableRun> runs;
  for (std::int64_t t = 0; t < std::ssize(plan.tables); ++t) {
    if (t > 0 && plan.tables[t] == plan.tables[t - 1] && kinds.alike(step.statistics, t, t - 1))
      ++runs.back().count;
    else
      runs.push_back({t, 1});
  }
  return runs;
}

StepWork step_work(const StepContext& step, const MachineModel& machine, const Plan& plan) {
  StepWork sum{.ranks = std::vector<RankWork>(static_cast<std::size_t>(plan.ranks))};
  RankWork everywhere;
  for (const TableRun& run : runs_of_alike_tables(step, plan)) {
    const TableWork work = table_work(step, machine, run.first, plan.tables[run.first]);
    for (std::int64_t table = 0; table < run.count; ++table) {
      everywhere += work.everywhere;
      for (const auto& [rank, of_rank] : work.at) sum.ranks[rank] += of_rank;
      sum.totals += work.totals;
    }
  }
  for (RankWork& rank : sum.ranks) rank += everywhere;
  return sum;
}

}  // namespace shardmark::placement
