// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "comm/placement/cost/step_cost.hpp"

namespace shardmark::placement {
namespace {

/// One way of a step: what each rank exchanges with all, with its node, with its rail.
struct Way {
  std::vector<double> all, node, rail;
};

Way way_of(const StepWork& work, WayBytes RankWork::*bytes) {
  Way way;
  for (const RankWork& rank : work.ranks) {
    way.all.push_back((rank.*bytes).all);
    way.node.push_back((rank.*bytes).node);
    way.rail.push_back((rank.*bytes).rail);
  }
  return way;
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
    const double asked = exchange(way_of(work_, &RankWork::asked));
    add_exchange(Phase::input_dist, asked + announcements(), link(&RankWork::asked));
    const double reduced = reduction(work_.reduced);
    add_exchange(Phase::output_dist, exchange(way_of(work_, &RankWork::vectors)) + reduced, link(&RankWork::vectors));
    add_exchange(Phase::grad_dist, exchange(way_of(work_, &RankWork::gradients)) + reduced, link(&RankWork::gradients));
    const double dense = all_reduce_seconds(layout_, machine_, 4.0 * step_.dense_parameters);
    add_exchange(Phase::dense, dense, 0.0);
    add_exchange(Phase::update, update_exchange(), 0.0);
    add_floors();
    overlap();
    count_bytes();
    return result_;
  }

 private:
  void compute() {
    const auto ranks = static_cast<double>(work_.ranks.size());
    for (std::size_t r = 0; r < work_.ranks.size(); ++r) {
      auto seconds = compute_seconds(machine_, finished_counts(step_, work_.ranks[r]));
      if (machine_.flops > 0.0)
        seconds[index_of(Phase::dense)] = step_.dense_flops * static_cast<double>(step_.samples()) / machine_.flops;
      for (std::size_t p = 0; p < phase_count; ++p) {
        PhasePrediction& phase = result_.phases[p];
        if (seconds[p] > phase.seconds) phase.slowest_rank = static_cast<int>(r);
        phase.seconds = std::max(phase.seconds, seconds[p]);
        phase.mean += seconds[p] / ranks;
      }
      result_.rank_seconds.push_back(std::accumulate(seconds.begin(), seconds.end(), 0.0));
      result_.computing.push_back(seconds);
      result_.memory.push_back(work_.ranks[r].memory);
    }
  }

  void add_exchange(Phase phase, double seconds, double least) {
    PhasePrediction& of = result_.phases[index_of(phase)];
    of.exchange += seconds;
    of.seconds += seconds;
    of.mean += seconds;
    of.least += least;
  }

  /// Each group exchanges its share.
  double exchange(Way way) const {
    const auto groups = static_cast<double>(step_.groups);
    for (auto* bytes : {&way.all, &way.node, &way.rail})
      for (double& of_rank : *bytes) of_rank /= groups;
    double seconds = exchange_seconds(layout_, machine_, step_.exchange, way.all);
    if (moves(way.node)) seconds += node_exchange_seconds(layout_, machine_, step_.exchange, way.node);
    if (moves(way.rail)) seconds += rail_exchange_seconds(layout_, machine_, step_.exchange, way.rail);
    return groups * seconds;
  }

  /// Where owners write and read what lies at home, no message is left, and the floors of memory are all.
  double link(WayBytes RankWork::*bytes) const {
    if (shape_of(step_.exchange).by_loads && layout_.nodes() == 1) return 0.0;
    return link_seconds(layout_, machine_, step_.exchange, way_of(work_, bytes).all);
  }

  /// Messages that say how much comes, or that carry so little that latency is all of them: of bags their lengths apart
  /// from their ids, and weights; of rows their numbers. A byte each.
  double announcements() const {
    const int exchanges = (work_.pools ? 1 : 0) + (work_.pools && step_.weighted ? 1 : 0) + (work_.asks_rows ? 1 : 0) +
                          (work_.pools && work_.asks_rows ? 1 : 0);
    const std::vector<double> one(work_.ranks.size(), 1.0);
    return static_cast<double>(exchanges * step_.groups) * exchange_seconds(layout_, machine_, step_.exchange, one);
  }

  /// Partial sums that are added on their way; their gradients take as long.
  double reduction(double bytes) const {
    if (bytes <= 0.0 || layout_.ranks == 1) return 0.0;
    const bool halves = step_.movement.transfer == RowTransfer::reduce_scatter_halving;
    const std::vector<double> of_rank(work_.ranks.size(), bytes);
    return exchange_seconds(layout_, machine_, halves ? halving_exchange : library_exchange, of_rank);
  }

  double update_exchange() const {
    double seconds = all_reduce_seconds(layout_, machine_, work_.all_reduced);
    if (work_.all_gathered > 0.0) {
      const std::vector<double> counts(work_.ranks.size(), 8.0), rows(work_.ranks.size(), work_.all_gathered);
      seconds += 2 * exchange_seconds(layout_, machine_, library_exchange, counts) +
                 exchange_seconds(layout_, machine_, library_exchange, rows);
    }
    double row_sums = 0.0;
    for (const RankWork& rank : work_.ranks) row_sums = std::max(row_sums, rank.row_sums);
    const ExchangeCost& message = machine_.exchange(step_.exchange);
    if (row_sums > 0.0) seconds += (layout_.nodes() > 1 ? message.between : message.inside).seconds(row_sums);
    return seconds;
  }

  /// What the ceilings of memory allow at least.
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
    floor(Phase::input_dist, 16 * most(Term::route_id) + 16 * most(Term::owned_id), machine_.stream_bytes_per_second);
    floor(Phase::lookup, 64 * most(Term::lookup_line), machine_.gather_bytes_per_second);
    floor(Phase::lookup, 64 * most(Term::lookup_vector_line), machine_.stream_bytes_per_second);
    floor(Phase::update, 64 * most(Term::update_line), machine_.update_bytes_per_second);
    floor(Phase::update, 64 * most(Term::update_vector_line), machine_.stream_bytes_per_second);
  }

  /// Groups of tables compute while others travel, forward and backward.
  void overlap() {
    for (const auto& way : {std::vector{Phase::input_dist, Phase::lookup, Phase::output_dist},
                            std::vector{Phase::dense}, std::vector{Phase::grad_dist, Phase::update}}) {
      double computing = 0.0, travelling = 0.0;
      for (const Phase phase : way) {
        const PhasePrediction& of = result_.phases[index_of(phase)];
        computing += of.seconds - of.exchange;
        travelling += of.exchange;
      }
      const auto groups =
          way.front() == Phase::dense ? 1.0 : static_cast<double>(std::max<std::int64_t>(step_.groups, 1));
      result_.seconds += std::max(computing, travelling) + std::min(computing, travelling) / groups;
    }
  }

  /// A home sends what its owners ask to be sent, on three kinds of ways; an owner its vectors.
  void count_bytes() {
    const auto asked = [](const RankWork& rank) {
      WayBytes bytes = rank.asked;
      return bytes += rank.gradients;
    };
    const auto answered = [](const RankWork& rank) { return rank.vectors; };
    const PeerBytes to_owners = bytes_of_peers(asked), to_homes = bytes_of_peers(answered);
    const double P = layout_.ranks;
    const double everybody = 2 * (P - 1) / P * work_.all_reduced + (P - 1) * (work_.all_gathered + 2 * work_.reduced);
    for (int r = 0; r < layout_.ranks; ++r) {
      const double alike = everybody + work_.ranks[r].row_sums;
      result_.sent.push_back(alike + to_owners.from_others[r] + to_homes.to_others[r]);
      result_.received.push_back(alike + to_owners.to_others[r] + to_homes.from_others[r]);
    }
  }

  /// What rank r exchanges with all others on its own account, and on account of the others. By rank.
  struct PeerBytes {
    std::vector<double> to_others, from_others;
  };
  template <class Bytes>
  PeerBytes bytes_of_peers(const Bytes& bytes_of) const {
    const int per_node = std::min(layout_.per_node, layout_.ranks);
    std::vector<double> node(layout_.nodes()), rail(per_node);
    double all = 0.0;
    for (int r = 0; r < layout_.ranks; ++r) {
      const WayBytes bytes = bytes_of(work_.ranks[r]);
      all += bytes.all;
      node[layout_.node_of(r)] += bytes.node;
      rail[r % per_node] += bytes.rail;
    }
    PeerBytes peers;
    for (int r = 0; r < layout_.ranks; ++r) {
      const WayBytes own = bytes_of(work_.ranks[r]);
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
  StepPrediction result_;
};

}  // namespace

StepPrediction predict_work(const StepContext& step, const MachineModel& machine, const StepWork& work) {
  return Prediction(step, machine, work).run();
}

StepPrediction predict_step(const StepContext& step, const MachineModel& machine, const Plan& plan) {
  const StepContext whole = settled(step, machine, plan);
  return predict_work(whole, machine, step_work(whole, machine, plan));
}

double exchange_seconds(const StepContext& step, const MachineModel& machine, std::span<const double> bytes) {
  return exchange_seconds(step.layout(), machine, step.exchange, bytes);
}

double all_reduce_seconds(const StepContext& step, const MachineModel& machine, double bytes) {
  return all_reduce_seconds(step.layout(), machine, bytes);
}

}  // namespace shardmark::placement
