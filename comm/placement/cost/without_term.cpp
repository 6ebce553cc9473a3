// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/without_term.hpp"

#include <algorithm>
#include <ranges>

namespace shardmark::placement {

void drop_calls(MachineModel& machine) {
  for (ExchangeCost& exchange : std::views::values(machine.exchanges)) exchange.call = 0.0;
  machine.all_reduce_call = 0.0;
}

void drop_rounds(MachineModel& machine) {
  for (ExchangeCost& exchange : std::views::values(machine.exchanges))
    exchange.inside_round = exchange.between_round = 0.0;
}

void drop_dense_start(MachineModel& machine) { machine.dense_start = 0.0; }
void drop_overlaps(MachineModel& machine) { machine.software.overlaps.reset(); }
void drop_row_shares(MachineModel& machine) { machine.row_shares.clear(); }
void drop_switch(MachineModel& machine) { machine.switch_ranks = 0; }
void drop_alone_messages(MachineModel& machine) { machine.alone = {}; }
void drop_limit(MachineModel& machine) { machine.limit = {}; }
void drop_node_limit(MachineModel& machine) { machine.node_bytes_per_second = 0.0; }
void drop_trees(MachineModel& machine) { machine.all_reduce_by_trees = false; }
void drop_narrow_gradients(MachineModel& machine) { machine.software.gradient_bytes = Software{}.gradient_bytes; }

std::vector<std::string_view> droppable() {
  std::vector<std::string_view> names;
  for (const TermChoice& term : terms) names.push_back(term.name);
  for (const ModelPart& part : model_parts) names.push_back(part.name);
  return names;
}

MachineModel without(MachineModel machine, const std::string& name) {
  for (const ModelPart& part : model_parts)
    if (part.name == name) {
      for (const Term term : part.terms) at(machine.seconds, term) = 0.0;
      if (part.drop != nullptr) part.drop(machine);
      return machine;
    }
  const auto term = std::ranges::find(terms, name, &TermChoice::name);
  if (term == terms.end()) reference::throw_unknown("term or part of the model", name, droppable());
  machine.seconds[static_cast<std::size_t>(term - terms.begin())] = 0.0;
  return machine;
}

}  // namespace shardmark::placement
