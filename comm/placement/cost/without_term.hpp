// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "comm/placement/cost/machine_model.hpp"

namespace shardmark::placement {

/// Names a part of the model that is no single term: terms of which one alone says nothing, and what `drop` takes out
/// of a machine.
struct ModelPart {
  std::string_view name;
  std::string_view description;
  void (*drop)(MachineModel&) = nullptr;
  std::span<const Term> terms = {};
};

inline constexpr std::array launch_terms{Term::route_step, Term::lookup_step, Term::output_step, Term::gradient_step,
                                         Term::update_step};
inline constexpr std::array key_terms{Term::route_key, Term::sorted_key, Term::key_id,
                                      Term::key,       Term::key_line,   Term::new_key};
inline constexpr std::array codec_terms{Term::coded_value, Term::coded_gradient};

void drop_calls(MachineModel& machine);
void drop_rounds(MachineModel& machine);
void drop_dense_start(MachineModel& machine);
void drop_overlaps(MachineModel& machine);
void drop_row_shares(MachineModel& machine);
void drop_switch(MachineModel& machine);
void drop_alone_messages(MachineModel& machine);
void drop_limit(MachineModel& machine);
void drop_node_limit(MachineModel& machine);
void drop_trees(MachineModel& machine);
void drop_narrow_gradients(MachineModel& machine);

inline constexpr std::array model_parts{
    ModelPart{"calls", "seconds of a call of an exchange or all-reduce", drop_calls},
    ModelPart{"rounds", "latency that the messages of a round share", drop_rounds},
    ModelPart{"launches", "what starts phases and dense layers, however few samples there are", drop_dense_start,
              launch_terms},
    ModelPart{"keys", "what keys take whose rows come and go, in all", nullptr, key_terms},
    ModelPart{"codecs", "what narrow wire types take, in all", nullptr, codec_terms},
    ModelPart{"overlaps", "what the software does at the same time", drop_overlaps},
    ModelPart{"row_shares", "the curve of random rows by their size: all run at full speed", drop_row_shares},
    ModelPart{"switch", "links that ranks of a node share", drop_switch},
    ModelPart{"alone_messages", "messages that are faster the less others send", drop_alone_messages},
    ModelPart{"limit", "what limits links between nodes in the long run", drop_limit},
    ModelPart{"node_limit", "links between nodes that ranks of a node share", drop_node_limit},
    ModelPart{"trees", "all-reduces by trees between nodes", drop_trees},
    ModelPart{"narrow_gradients", "gradients that are summed in fewer than 4 bytes", drop_narrow_gradients},
};

/// Returns the names of all that without() takes out: terms and parts.
std::vector<std::string_view> droppable();

/// Returns the machine as if a term took no time or a part of the model were not there, to see what it earns. Throws
/// InputError for a name that is neither.
MachineModel without(MachineModel machine, const std::string& name);

}  // namespace shardmark::placement
