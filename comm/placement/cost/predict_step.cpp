// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "comm/placement/cost/step_cost.hpp"

namespace shardmark::placement {
namespace {

RankBytes rank_bytes(const StepWork& work, PhaseBytes RankWork::*bytes) {
  RankBytes sent;
  for (const RankWork& rank : work.ranks) {
    sent.all.push_back((rank.*bytes).all);
    sent.node.push_back((rank.*bytes).node);
    sent.rail.push_back((rank.*bytes).rail);
  }
  return sent;
}

bool moves(const std::vector<double>& bytes) {
  return std::ranges::any_of(bytes, [](double b) { return b > 0.0; });
}

class Prediction {
 public:
  Prediction(const StepContext& step, const MachineModel& machine, const StepWork& work)
      : step_(step), machine_(machine), work_(work), layout_(step.layout()) {}

  StepPrediction run() {
    compute();
    const auto shared = shared_exchange_times(step_, machine_, work_.totals);
    for (std::size_t p = 0; p < phase_count; ++p) add_exchange(static_cast<Phase>(p), shared[p]);
    for (const auto& [phase, bytes] :
         {std::pair(Phase::input_dist, &RankWork::requested), std::pair(Phase::output_dist, &RankWork::vectors),
          std::pair(Phase::grad_dist, &RankWork::gradients)}) {
      const bool stays = step_.at_home && phase != Phase::input_dist;
      add_exchange(phase, stays ? ExchangeTime{at_home_seconds(step_, machine_)}
                                : phase_exchange_time(step_, machine_, rank_bytes(work_, bytes)));
      if (!stays) result_.phases[index_of(phase)].least += link(bytes);
    }
    double row_sums = 0.0;
    for (const RankWork& rank : work_.ranks) row_sums = std::max(row_sums, rank.row_sums);
    add_exchange(Phase::update, row_sum_time(step_, machine_, row_sums));
    add_floors();
    find_path();
    count_bytes();
    return result_;
  }

 private:
  void compute() {
    const auto ranks = static_cast<double>(work_.ranks.size());
    std::array<TermCounts, phase_count> of_slowest{};
    for (std::size_t r = 0; r < work_.ranks.size(); ++r) {
      const TermCounts counts = finished_counts(step_, work_.ranks[r]);
      auto seconds = compute_seconds(machine_, counts);
      seconds[index_of(Phase::dense)] = dense_seconds(step_, machine_);
      for (std::size_t p = 0; p < phase_count; ++p) {
        PhasePrediction& phase = result_.phases[p];
        if (r == 0 || seconds[p] > phase.seconds) {
          phase.slowest_rank = static_cast<int>(r);
          of_slowest[p] = counts;
        }
        phase.seconds = std::max(phase.seconds, seconds[p]);
        phase.mean += seconds[p] / ranks;
      }
      result_.rank_seconds.push_back(std::accumulate(seconds.begin(), seconds.end(), 0.0));
      result_.computing.push_back(seconds);
      result_.memory.push_back(work_.ranks[r].memory);
    }
    for (std::size_t t = 0; t < terms.size(); ++t) {
      result_.counts[t] = of_slowest[index_of(terms[t].phase)][t];
      result_.terms[t] = result_.counts[t] * machine_.seconds[t];
    }
  }

  void add_exchange(Phase phase, const ExchangeTime& time) {
    exchanging_[index_of(phase)] += time;
    add_exchange(phase, time.messages);
  }

  void add_exchange(Phase phase, double seconds) {
    PhasePrediction& of = result_.phases[index_of(phase)];
    of.exchange += seconds;
    of.seconds += seconds;
    of.mean += seconds;
  }

  /// Returns the least seconds that the links allow. Loads and stores inside a node have the floors of memory alone.
  double link(PhaseBytes RankWork::*bytes) const {
    const ExchangeShape& shape = shape_of(step_.exchange);
    if (shape.by_loads && !shape.chooses && layout_.nodes() == 1) return 0.0;
    return link_seconds(layout_, machine_, step_.exchange, rank_bytes(work_, bytes).all);
  }

  /// Adds the least seconds that the ceilings of memory allow.
  void add_floors() {
    const auto most = [&](Term term) {
      double count = 0.0;
      for (const RankWork& rank : work_.ranks) count = std::max(count, at(rank.counts, term));
      return count;
    };
    const auto floor = [&](Phase phase, double bytes, double rate) {
      if (rate > 0.0) result_.phases[index_of(phase)].least += bytes / rate;
    };
    // Ids are read at home and once more by the owners of their rows, 8 bytes each, and written between the two.
    double own_ids = 0.0, updated_lines = 0.0;
    for (const Feature& feature : step_.features()) own_ids += static_cast<double>(step_.samples() * feature.hotness);
    for (const RankWork& rank : work_.ranks) updated_lines = std::max(updated_lines, rank.updated_lines);
    floor(Phase::input_dist, 16 * own_ids + 16 * most(Term::owned_id), machine_.stream_bytes_per_second);
    floor(Phase::lookup, 64 * most(Term::lookup_line), machine_.gather_bytes_per_second);
    floor(Phase::lookup, 64 * most(Term::lookup_vector_line), machine_.stream_bytes_per_second);
    floor(Phase::lookup, 64 * most(Term::key_line), machine_.gather_bytes_per_second);
    floor(Phase::update, 64 * updated_lines, machine_.update_bytes_per_second);
  }

  void find_path() {
    std::array<double, phase_count> computing{};
    for (std::size_t p = 0; p < phase_count; ++p) computing[p] = result_.phases[p].seconds - result_.phases[p].exchange;
    result_.path = step_path(step_, machine_, computing, exchanging_);
    result_.seconds = result_.path.seconds;
    for (const StepPart& part : std::span(result_.path.parts).first(result_.path.count))
      add_exchange(part.phase, part.held_back);
  }

  /// Counts what ranks send and receive: a home sends what its owners receive, to all ranks, to its node or along its
  /// rail; an owner sends its vectors.
  void count_bytes() {
    const auto requested = [](const RankWork& rank) {
      PhaseBytes bytes = rank.requested;
      return bytes += rank.gradients;
    };
    const auto answered = [](const RankWork& rank) { return rank.vectors; };
    const PeerBytes to_owners = bytes_of_peers(requested), to_homes = bytes_of_peers(answered);
    const double P = layout_.ranks;
    const double everybody =
        2 * (P - 1) / P * work_.totals.all_reduced + (P - 1) * (work_.totals.all_gathered + 2 * work_.totals.reduced);
    for (int r = 0; r < layout_.ranks; ++r) {
      const double alike = everybody + work_.ranks[r].row_sums;
      result_.sent.push_back(alike + to_owners.from_others[r] + to_homes.to_others[r]);
      result_.received.push_back(alike + to_owners.to_others[r] + to_homes.from_others[r]);
    }
  }

  /// Holds, by rank, what the rank exchanges with all others on its own account, and on account of the others.
  struct PeerBytes {
    std::vector<double> to_others, from_others;
  };
  template <class Bytes>
  PeerBytes bytes_of_peers(const Bytes& bytes_of) const {
    const int per_node = std::min(layout_.per_node, layout_.ranks);
    std::vector<double> node(layout_.nodes()), rail(per_node);
    double all = 0.0;
    for (int r = 0; r < layout_.ranks; ++r) {
      const PhaseBytes bytes = bytes_of(work_.ranks[r]);
      all += bytes.all;
      node[layout_.node_of(r)] += bytes.node;
      rail[r % per_node] += bytes.rail;
    }
    PeerBytes peers;
    for (int r = 0; r < layout_.ranks; ++r) {
      const PhaseBytes own = bytes_of(work_.ranks[r]);
      peers.to_others.push_back((layout_.ranks - 1) * own.all + (layout_.on_node(layout_.node_of(r)) - 1) * own.node +
                                (layout_.nodes() - 1) * own.rail);
      peers.from_others.push_back(all - own.all + node[layout_.node_of(r)] - own.node + rail[r % per_node] - own.rail);
    }
    return peers;
  }

  const StepContext& step_;
  const MachineModel& machine_;
  const StepWork& work_;
  RankLayout layout_;
  std::array<ExchangeTime, phase_count> exchanging_{};
  StepPrediction result_;
};

}  // namespace

double dense_seconds(const StepContext& step, const MachineModel& machine) {
  if (machine.flops <= 0.0 || step.dense_flops <= 0.0) return 0.0;
  return machine.dense_start + step.dense_flops * static_cast<double>(step.samples()) / machine.flops;
}

std::array<ExchangeTime, phase_count> shared_exchange_times(const StepContext& step, const MachineModel& machine,
                                                            const StepTotals& totals) {
  const RankLayout layout = step.layout();
  const auto even_exchange = [&](double bytes, std::string_view exchange, double times = 1.0) {
    if (bytes < least_bytes) return ExchangeTime{};
    const std::vector<double> of_rank(static_cast<std::size_t>(layout.ranks), bytes);
    return ExchangeTime{times * exchange_seconds(layout, machine, exchange, of_rank),
                        times * limited_seconds(layout, machine.limit, of_rank, {})};
  };
  const auto sum = [&](double bytes) {
    return ExchangeTime{all_reduce_seconds(layout, machine, bytes), limited_sum_seconds(layout, machine.limit, bytes)};
  };
  std::array<ExchangeTime, phase_count> times{};
  // Messages that say how much comes, or that carry so little that latency is all of them: of bags their lengths apart
  // from their ids, and weights; of rows their numbers. A byte each.
  const bool pools = totals.pools > 0, asks = totals.asks_rows > 0;
  const int announcements =
      (pools ? 1 : 0) + (pools && step.weighted ? 1 : 0) + (asks ? 1 : 0) + (pools && asks ? 1 : 0);
  if (announcements > 0)
    times[index_of(Phase::input_dist)] =
        even_exchange(1.0, step.exchange, static_cast<double>(announcements * step.groups));
  const bool halves = step.movement.transfer == RowTransfer::reduce_scatter_halving;
  const ExchangeTime reduced = even_exchange(totals.reduced, halves ? halving_exchange : library_exchange);
  times[index_of(Phase::output_dist)] = times[index_of(Phase::grad_dist)] = reduced;
  times[index_of(Phase::dense)] = sum(machine.software.gradient_bytes * step.dense_parameters);
  ExchangeTime& update = times[index_of(Phase::update)];
  if (totals.all_reduced >= least_bytes)  // as fp32
    update += sum(machine.software.gradient_bytes / 4 * totals.all_reduced);
  if (totals.all_gathered >= least_bytes) {
    update += even_exchange(8.0, library_exchange, 2.0);
    update += even_exchange(totals.all_gathered, library_exchange);
  }
  return times;
}

double at_home_seconds(const StepContext& step, const MachineModel& machine) {
  return exchange_seconds(step, machine, std::vector<double>(static_cast<std::size_t>(step.ranks), 1.0));
}

ExchangeTime row_sum_time(const StepContext& step, const MachineModel& machine, double bytes) {
  const ExchangeCost& message = machine.exchange(step.exchange);
  if (bytes < least_bytes) return {};
  const RankLayout layout = step.layout();
  ExchangeTime time{latency_seconds(layout, machine, step.exchange) +
                    (layout.nodes() > 1 ? message.between : message.inside).seconds(bytes)};
  if (!machine.limit.limits()) return time;  // a search asks for each change
  std::vector<double> to_each(static_cast<std::size_t>(layout.ranks));
  to_each.front() = bytes / std::max(1, layout.ranks - 1);
  time.links = limited_seconds(layout, machine.limit, to_each, {});
  return time;
}

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

StepPrediction predict_work(const StepContext& step, const MachineModel& machine, const StepWork& work) {
  return Prediction(step, machine, work).run();
}

StepPrediction predict_step(const StepContext& step, const MachineModel& machine, const Plan& plan) {
  const StepContext whole = settled(step, machine, plan);
  return predict_work(whole, machine, step_work(whole, machine, plan));
}

ExchangeTime phase_exchange_time(const StepContext& step, const MachineModel& machine, RankBytes sent) {
  const RankLayout layout = step.layout();
  const double links = limited_seconds(layout, machine.limit, sent.all, sent.rail);
  const auto groups = static_cast<double>(step.groups);
  for (auto* bytes : {&sent.all, &sent.node, &sent.rail})
    for (double& of_rank : *bytes) of_rank /= groups;
  double seconds = exchange_seconds(layout, machine, step.exchange, sent.all);
  if (moves(sent.node)) seconds += node_exchange_seconds(layout, machine, step.exchange, sent.node);
  if (moves(sent.rail)) seconds += rail_exchange_seconds(layout, machine, step.exchange, sent.rail);
  return {groups * seconds, links};
}

double exchange_seconds(const StepContext& step, const MachineModel& machine, std::span<const double> bytes) {
  return exchange_seconds(step.layout(), machine, step.exchange, bytes);
}

double all_reduce_seconds(const StepContext& step, const MachineModel& machine, double bytes) {
  return all_reduce_seconds(step.layout(), machine, bytes);
}

}  // namespace shardmark::placement
