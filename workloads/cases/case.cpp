// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/case.hpp"

#include <fmt/format.h>

namespace shardmark {

std::string Case::name() const {
  const Movement usual;
  std::string name = fmt::format("{} {}", name_of(movement.transfer), exchange.name());
  if (movement.wire != usual.wire)
    name += fmt::format(" {}/{}", name_of(movement.wire.forward), name_of(movement.wire.backward));
  if (movement.wire_ids != usual.wire_ids) name += fmt::format(" ids {}", name_of(movement.wire_ids));
  if (movement.dedup != usual.dedup) name += fmt::format(" dedup {}", name_of(movement.dedup));
  if (groups != TableGroups{})
    name += fmt::format(" groups {} {}", groups.groups == TableGroups::table ? "table" : std::to_string(groups.groups),
                        name_of(groups.balance));
  if (movement.replicated_gradients != usual.replicated_gradients)
    name += fmt::format(", replicated gradients {}", name_of(movement.replicated_gradients));
  return name;
}

}  // namespace shardmark
