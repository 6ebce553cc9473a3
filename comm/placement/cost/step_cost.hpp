// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/placement/cost/exchange_time.hpp"
#include "comm/placement/cost/step_path.hpp"
#include "comm/placement/statistics/lookup_statistics.hpp"
#include "comm/placement/traffic/movement.hpp"

namespace shardmark::placement {

/// Holds everything about a step but the plan. What it refers to outlives it.
struct StepContext {
  const LookupStatistics& statistics;  ///< of the tables and features
  int ranks = 1;
  int ranks_per_node = 1;
  std::int64_t global_batch = 1;
  Movement movement = {};
  bool weighted = false;
  std::string exchange{library_exchange};
  std::int64_t groups = 1;        ///< of tables that travel one after the other while others compute
  bool prefetches = false;        ///< steps are prefetched
  bool at_home = false;           ///< vectors lie at home (may_lie_at_home()), as settled() finds
  bool own_stays = false;         ///< what a rank sends itself is not copied (own_part_stays()), as settled() finds
  double dense_flops = 0.0;       ///< of the dense half, per sample, forward and backward
  double dense_parameters = 0.0;  ///< of the dense half, whose gradients are summed over all ranks
  /// Says for how many samples of the global batch a row stays in a cache after its last use; absent: it stays where it
  /// was used in this step before. cached_samples() computes it.
  std::optional<double> cached_samples = {};
  double far_vectors = 0.0;  ///< share of a rank's vectors, and of their gradients, that its cache does not hold
  Nodes nodes = {};          ///< of layout(), as settled() finds

  std::span<const Table> tables() const { return statistics.tables(); }
  std::span<const Feature> features() const { return statistics.features(); }
  RankLayout layout() const { return {ranks, ranks_per_node}; }
  std::int64_t samples() const { return (global_batch + ranks - 1) / ranks; }  ///< of the rank that has most
};

/// Returns how many samples' distinct rows fit the caches of all ranks together, if each holds its share of the tables:
/// it solves sum over tables of distinct rows x row bytes = ranks x cache_per_rank.
double cached_samples(const StepContext& step, const MachineModel& machine);

/// Holds the bytes of one exchange phase of a step: input_dist, output_dist or grad_dist.
struct PhaseBytes {
  double all = 0.0;   ///< with each other rank
  double node = 0.0;  ///< besides with each other rank of its node: rows that its node asks for together (dedup node),
                      ///< partial sums that it adds (node_partials)
  double rail = 0.0;  ///< besides with each rank that has its number on another node

  PhaseBytes& operator+=(const PhaseBytes& other);
};

/// Counts what a rank does and sends in a step on account of some tables. It is additive: parts of a plan can be added
/// and taken away. Samples are spread evenly and are alike, so that an owner exchanges the same with every home.
struct RankWork {
  TermCounts counts{};         ///< route.sorted_id with one pass; finished_counts() makes it as many as all keys take
  double sorted_keys = 0.0;    ///< rows that the keys of that sort tell apart
  PhaseBytes requested;        ///< bytes that each other rank sends it in input_dist
  PhaseBytes vectors;          ///< bytes that it sends each other rank in output_dist
  PhaseBytes gradients;        ///< bytes that each other rank sends it in grad_dist
  double row_sums = 0.0;       ///< bytes that it sends in update for sums over whole rows, in all
  double updated_lines = 0.0;  ///< lines of 64 bytes of updated rows and their state that no cache holds
  double memory = 0.0;         ///< bytes: rows, state, and what buffers grow by

  RankWork& operator+=(const RankWork& other);
  RankWork& operator-=(const RankWork& other);
};

/// This is the number of bytes below which a sum is rounding: what is left of bytes that were added and taken away.
inline constexpr double least_bytes = 1e-6;

/// Counts what a step has once, on account of all its tables, or of some.
struct StepTotals {
  double reduced = 0.0;       ///< bytes of partial sums that each rank sends each other, added on their way
  double all_reduced = 0.0;   ///< bytes of the gradients that are summed over all ranks
  double all_gathered = 0.0;  ///< bytes that each rank sends each other of rows of replicated tables
  int pools = 0;              ///< ranges of columns of tables of which bags travel to be pooled by owners
  int asks_rows = 0;          ///< those of which rows travel one by one

  StepTotals& operator+=(const StepTotals& other);
  StepTotals& operator-=(const StepTotals& other);
  bool operator==(const StepTotals&) const = default;
};

/// Counts the work of one table under one placement.
struct TableWork {
  RankWork everywhere;                       ///< what it is to every rank: to homes, and copies of replicated tables
  std::vector<std::pair<int, RankWork>> at;  ///< what it is besides to ranks that own some of it, each rank once
  StepTotals totals = {};
};

/// Returns the work of table number t. With transfer auto, the transfer is the one whose busiest rank sends least, as
/// in a run. Values of an optimizer are weighted as `machine` says.
TableWork table_work(const StepContext& step, const MachineModel& machine, std::int64_t t,
                     const TablePlacement& placement);

/// Names tables after each other that differ in nothing but their names and are placed alike.
struct TableRun {
  std::int64_t first = 0, count = 0;
};
std::vector<TableRun> runs_of_alike_tables(const StepContext& step, const Plan& plan);

/// Returns the context with what only the plan as a whole decides: the type of ids, the dedup where it is auto, and
/// node_partials where transfer auto sends all row splits so (rails_pay()); and with cached_samples and far_vectors.
StepContext settled(const StepContext& step, const MachineModel& machine, const Plan& plan);

/// Counts the work of all tables of a plan.
struct StepWork {
  std::vector<RankWork> ranks;
  StepTotals totals = {};
};
/// Returns the work of a plan. step: settled.
StepWork step_work(const StepContext& step, const MachineModel& machine, const Plan& plan);

/// Returns the values of digits of all passes of the sort of ids whose rows travel one by one, whose keys tell so many
/// rows apart: histograms that it makes however few ids there are. 0 without keys.
double sort_digits(const StepContext& step, double sorted_keys);

/// Returns all that a rank does, by term, once all its tables are added up: it multiplies sorts by the passes for their
/// keys, and adds the terms that a step has once.
TermCounts finished_counts(const StepContext& step, const RankWork& work);

/// Returns the seconds that a rank computes, by phase: finished counts x seconds of the terms.
std::array<double, phase_count> compute_seconds(const MachineModel& machine, const TermCounts& finished);

/// Returns the seconds that the dense half computes, the same on all ranks.
double dense_seconds(const StepContext& step, const MachineModel& machine);

/// Returns the times, by phase, of what all ranks exchange alike: messages that announce lengths and numbers, partial
/// sums that are added on their way, gradients of replicated tables and of dense layers.
std::array<ExchangeTime, phase_count> shared_exchange_times(const StepContext& step, const MachineModel& machine,
                                                            const StepTotals& totals);
/// Returns the seconds in which ranks signal each other that vectors which lie at home are complete.
double at_home_seconds(const StepContext& step, const MachineModel& machine);
/// Returns the time of the exchange of sums over whole rows, where the busiest rank sends that many bytes.
ExchangeTime row_sum_time(const StepContext& step, const MachineModel& machine, double bytes);

/// Describes a predicted phase: the seconds of the slowest rank, and what they are spent on.
struct PhasePrediction {
  double seconds = 0.0;   ///< of the phase: computing, plus what its exchange takes
  double exchange = 0.0;  ///< of them, in the exchange, links that hold it back included
  double mean = 0.0;      ///< mean over the ranks
  double least = 0.0;     ///< that the machine's ceilings and links allow for the same bytes
  int slowest_rank = 0;
};

struct StepPrediction {
  std::array<PhasePrediction, phase_count> phases{};
  StepPath path;                 ///< of the slowest ranks
  double seconds = 0.0;          ///< of the path; less than the sum of the phases where groups or software overlap
  TermCounts counts{};           ///< by term, of the slowest rank of its phase
  TermCounts terms{};            ///< seconds of these
  std::vector<double> memory;    ///< bytes, by rank
  std::vector<double> sent;      ///< bytes that leave each rank in a step
  std::vector<double> received;  ///< bytes that come to each rank
  std::vector<std::array<double, phase_count>> computing;  ///< seconds, by rank and phase
  std::vector<double> rank_seconds;                        ///< by rank, of what it computes
};

/// Predicts the step of a sound plan: the critical path of phases that each take the maximum over the ranks.
StepPrediction predict_step(const StepContext& step, const MachineModel& machine, const Plan& plan);

/// Predicts the step from work that is known. step: settled.
StepPrediction predict_work(const StepContext& step, const MachineModel& machine, const StepWork& work);

/// Holds the bytes (PhaseBytes) that each rank exchanges in one exchange phase of a step.
struct RankBytes {
  std::vector<double> all, node, rail;
};

/// Returns the time of an exchange phase of a step in which each group of tables exchanges its share in turn.
ExchangeTime phase_exchange_time(const StepContext& step, const MachineModel& machine, RankBytes bytes);

/// Returns the seconds of an exchange in which rank r exchanges bytes[r] with each other rank: from r to all
/// (output_dist), which takes as long as from all to r.
double exchange_seconds(const StepContext& step, const MachineModel& machine, std::span<const double> bytes);

/// Returns the seconds of an all-reduce of that many bytes over all ranks.
double all_reduce_seconds(const StepContext& step, const MachineModel& machine, double bytes);

}  // namespace shardmark::placement
