// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/step_seconds.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace shardmark::placement {
namespace {

constexpr std::array<Phase, ways> phase_of_way{Phase::input_dist, Phase::output_dist, Phase::grad_dist};

constexpr double least_bytes = 1e-6;  ///< less is what rounding left of sums that were added and taken away

bool never_falls(const MessageCost& cost) {
  return std::ranges::is_sorted(cost.points, {}, &MessageCost::Point::seconds);
}

bool sends_directly(std::string_view exchange) { return !shape_of(exchange).chooses && !shape_of(exchange).forwards; }

}  // namespace

double Lanes::seconds() const { return std::accumulate(at.begin(), at.begin() + row_sums, 0.0); }

double Lanes::squares() const { return std::inner_product(at.begin(), at.begin() + row_sums, at.begin(), 0.0); }

StepTotals& StepTotals::operator+=(const StepTotals& other) {
  reduced += other.reduced;
  all_reduced += other.all_reduced;
  all_gathered += other.all_gathered;
  pools += other.pools;
  asks_rows += other.asks_rows;
  return *this;
}

StepTotals& StepTotals::operator-=(const StepTotals& other) {
  return *this += {-other.reduced, -other.all_reduced, -other.all_gathered, -other.pools, -other.asks_rows};
}

StepSeconds::StepSeconds(const StepContext& step, const MachineModel& machine)
    : step_(step), machine_(machine), layout_(step.layout()) {
  const ExchangeCost& cost = machine.exchange(step.exchange);
  const bool even = layout_.nodes() == 1 || layout_.ranks % layout_.per_node == 0;
  follows_from_busiest_ =
      sends_directly(step.exchange) && even && never_falls(cost.inside) && never_falls(cost.between);
  always_.computing = compute_seconds(machine, finished_counts(step, RankWork{}));
  always_.computing[index_of(Phase::dense)] =
      machine.flops > 0.0 ? step.dense_flops * static_cast<double>(step.samples()) / machine.flops : 0.0;
  always_.travelling[index_of(Phase::dense)] = all_reduce_seconds(layout_, machine, 4.0 * step.dense_parameters);
}

double StepSeconds::sending(double bytes) const {
  if (bytes < least_bytes || layout_.ranks <= 1) return 0.0;
  const double neighbours = std::min(layout_.per_node, layout_.ranks) - 1;
  const ExchangeCost& cost = machine_.exchange(step_.exchange);
  const double far = layout_.ranks - 1 - neighbours;
  const double of_group = bytes / groups();
  return groups() * ((neighbours > 0 ? neighbours * cost.inside.seconds(of_group) : 0.0) +
                     (far > 0 ? far * cost.between.seconds(of_group) : 0.0));
}

Lanes StepSeconds::lanes(const RankSums& sums) const {
  Lanes lanes;
  std::ranges::copy(compute_seconds(sums), lanes.at.begin());
  for (std::size_t w = 0; w < ways; ++w) lanes[Lanes::sending + w] = sending(sums[RankSums::asked + w]);
  lanes[Lanes::row_sums] = sums[RankSums::row_sums];
  lanes[Lanes::memory] = sums[RankSums::memory];
  return lanes;
}

bool StepSeconds::has_nodes() const { return machine_.node_bytes_per_second > 0.0 && layout_.nodes() > 1; }

double StepSeconds::exchange(double sending, std::span<const double> node_bytes) const {
  if (!has_nodes()) return sending;
  const double all = std::accumulate(node_bytes.begin(), node_bytes.end(), 0.0), own = layout_.per_node;
  const auto [least, most] = std::ranges::minmax(node_bytes);
  return std::max(sending,
                  std::max(most * (layout_.ranks - own), (all - least) * own) / machine_.node_bytes_per_second);
}

double StepSeconds::exchange(std::span<const double> bytes) const {
  std::vector<double> of_group(bytes.begin(), bytes.end());
  for (double& of_rank : of_group) of_rank = of_rank < least_bytes ? 0.0 : of_rank / groups();
  return groups() * exchange_seconds(layout_, machine_, step_.exchange, of_group);
}

double StepSeconds::even_exchange(double bytes, std::string_view exchange) const {
  const std::vector<double> of_rank(static_cast<std::size_t>(layout_.ranks), bytes);
  return bytes >= least_bytes ? exchange_seconds(layout_, machine_, exchange, of_rank) : 0.0;
}

StepSeconds::Phases StepSeconds::phases_of(const StepTotals& totals) const {
  if (totals == last_) return of_last_;
  Phases phases = always_;
  const bool pools = totals.pools > 0, asks = totals.asks_rows > 0;
  const int announcements =
      (pools ? 1 : 0) + (pools && step_.weighted ? 1 : 0) + (asks ? 1 : 0) + (pools && asks ? 1 : 0);
  if (announcements > 0)
    phases.travelling[index_of(Phase::input_dist)] +=
        static_cast<double>(announcements * step_.groups) * even_exchange(1.0, step_.exchange);
  const bool halves = step_.movement.transfer == RowTransfer::reduce_scatter_halving;
  const double reduced = even_exchange(totals.reduced, halves ? halving_exchange : library_exchange);
  phases.travelling[index_of(Phase::output_dist)] += reduced;
  phases.travelling[index_of(Phase::grad_dist)] += reduced;
  double& update = phases.travelling[index_of(Phase::update)];
  if (totals.all_reduced >= least_bytes) update += all_reduce_seconds(layout_, machine_, totals.all_reduced);
  if (totals.all_gathered >= least_bytes)
    update += 2 * even_exchange(8.0, library_exchange) + even_exchange(totals.all_gathered, library_exchange);
  last_ = totals;
  return of_last_ = phases;
}

double StepSeconds::overlapped(const Phases& phases) const {
  const auto way = [&](Phase first, Phase last, double parts) {
    double computing = 0.0, travelling = 0.0;
    for (std::size_t p = index_of(first); p <= index_of(last); ++p) {
      computing += phases.computing[p];
      travelling += phases.travelling[p];
    }
    return std::max(computing, travelling) + std::min(computing, travelling) / parts;
  };
  return way(Phase::input_dist, Phase::output_dist, groups()) + way(Phase::dense, Phase::dense, 1.0) +
         way(Phase::grad_dist, Phase::update, groups());
}

double StepSeconds::step(const Lanes& most, const std::array<double, ways>& exchanges, const StepTotals& totals) const {
  Phases phases = phases_of(totals);
  for (std::size_t p = 0; p < phase_count; ++p) phases.computing[p] += most[Lanes::computing + p];
  for (std::size_t w = 0; w < ways; ++w) phases.travelling[index_of(phase_of_way[w])] += exchanges[w];
  const ExchangeCost& message = machine_.exchange(step_.exchange);
  if (most[Lanes::row_sums] >= least_bytes)
    phases.travelling[index_of(Phase::update)] +=
        (layout_.nodes() > 1 ? message.between : message.inside).seconds(most[Lanes::row_sums]);
  return overlapped(phases);
}

}  // namespace shardmark::placement
