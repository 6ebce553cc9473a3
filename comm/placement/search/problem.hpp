// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "comm/placement/cost/step_cost.hpp"
#include "comm/placement/search/node_strips.hpp"
#include "comm/placement/search/step_seconds.hpp"
#include "comm/placement/search/table_options.hpp"

namespace shardmark::placement {

/// Holds what an option costs.
struct OptionWork {
  RankSums everywhere;          ///< on every rank
  std::vector<RankSums> seats;  ///< besides, by seat
  StepTotals totals;
  NodeStrips strips;            ///< besides: what depends on the nodes of its seats
  std::vector<double> weights;  ///< seconds by which a seat lengthens a step, about, by seat
  double beside = 0.0;          ///< those of each other rank of a node for seats that are on it together
  std::vector<int> heaviest;    ///< seats, by falling weight
};

/// Holds tables that differ in nothing but their names, and the options of each.
struct TableKind {
  std::vector<std::int64_t> tables;
  std::vector<TableOption> options;
  std::vector<OptionWork> works;  ///< by option
  int proposed = 0;               ///< options that families propose, which come first; others came with other plans
};

inline constexpr double no_limit = std::numeric_limits<double>::infinity();

/// Says where a table is: an option of its kind, and the rank of each seat.
struct Placed {
  int option = 0;
  std::vector<int> ranks;

  bool operator==(const Placed&) const = default;
};

/// Holds what has to be placed, on which ranks, and what each option costs.
class SearchProblem {
 public:
  /// Makes the options of each table. step: settled; it and the machine outlive the object. memory: bytes of a rank, or
  /// no_limit. Throws InputError where a table has no option (table_options.hpp).
  SearchProblem(const StepContext& step, const MachineModel& machine, double memory,
                std::span<const std::string_view> families);

  int ranks() const { return step_.ranks; }
  int node_size() const { return step_.ranks_per_node; }
  std::size_t nodes() const { return static_cast<std::size_t>(step_.layout().nodes()); }
  std::size_t node_of(std::size_t rank) const { return rank / static_cast<std::size_t>(step_.ranks_per_node); }
  std::int64_t tables() const { return std::ssize(kind_); }
  double memory() const { return memory_; }
  /// Returns whether the work of any option depends on the nodes of its seats.
  bool depends_on_nodes() const { return depends_on_nodes_; }
  const StepContext& step() const { return step_; }
  const MachineModel& machine() const { return machine_; }
  const StepSeconds& seconds() const { return seconds_; }

  std::span<const TableKind> kinds() const { return kinds_; }
  std::size_t kind_number(std::int64_t table) const { return kind_[static_cast<std::size_t>(table)]; }
  const TableKind& kind(std::int64_t table) const { return kinds_[kind_number(table)]; }
  const TableOption& option(std::int64_t table, int number) const {
    return kind(table).options[static_cast<std::size_t>(number)];
  }
  const OptionWork& work(std::int64_t table, int number) const {
    return kind(table).works[static_cast<std::size_t>(number)];
  }

  /// Converts placements of all tables that were made elsewhere; their options are added to those of the kinds.
  std::vector<Placed> adopt(std::span<const TablePlacement> placements);
  std::vector<TablePlacement> placements(std::span<const Placed> placed) const;

 private:
  int add_option(TableKind& kind, const TableOption& option);

  const StepContext& step_;
  const MachineModel& machine_;
  double memory_;
  StepSeconds seconds_;
  bool depends_on_nodes_ = false;
  std::vector<TableKind> kinds_;
  std::vector<std::size_t> kind_;  ///< by table
};

}  // namespace shardmark::placement
