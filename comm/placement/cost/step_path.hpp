// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "comm/placement/cost/software.hpp"
#include "reference/phase.hpp"

namespace shardmark::placement {

struct StepContext;
struct MachineModel;

/// Names what a part of a step occupies while it runs: a part that needs it too waits.
enum class Resource { compute, inside, between };

inline constexpr std::array step_resources{
    Choice<Resource>{"compute", "the rank's processor or GPU", Resource::compute},
    Choice<Resource>{"links inside", "messages inside a node", Resource::inside},
    Choice<Resource>{"links between", "messages between nodes", Resource::between},
};

/// Holds what exchanges take of a step: the seconds of their messages, and for how long their bytes take up the links
/// between nodes in the long run (LinkLimit).
struct ExchangeTime {
  double messages = 0.0, links = 0.0;

  ExchangeTime& operator+=(const ExchangeTime& other) {
    messages += other.messages;
    links += other.links;
    return *this;
  }
};

/// Is a node of the graph of a step.
struct StepPart {
  std::string_view name;
  Phase phase = Phase::lookup;
  Resource resource = Resource::compute;
  double seconds = 0.0, begin = 0.0;
  double held_back = 0.0;  ///< seconds of these that links take longer than messages, as they have not rested enough
  bool critical = false;   ///< on the critical path
};

/// Holds the parts of a step in the order in which they take their resources, and when the last one ends.
struct StepPath {
  std::array<StepPart, 16> parts{};
  std::size_t count = 0;
  double seconds = 0.0;
};

/// Returns the graph of a step whose phases compute and exchange that long on the slowest rank, and its critical path.
/// Every part follows the one before it in this order, which makes the step their sum,
///   input_dist, lookup, output_dist, dense (forward, gradients of activations, of weights), its sums, grad_dist,
///   update
/// unless the machine's software overlaps them (software.hpp). Groups of tables (StepContext::groups) hide the shorter
/// of computing and exchanging, forward and backward, but for that of one group; not inside a node of processors, whose
/// cores copy what travels. Where links have a limit, an exchange takes as long as its messages, or as its bytes need
/// beyond what the links have regained since; in the step that all come to.
StepPath step_path(const StepContext& step, const MachineModel& machine,
                   const std::array<double, phase_count>& computing,
                   const std::array<ExchangeTime, phase_count>& exchanging);

}  // namespace shardmark::placement
