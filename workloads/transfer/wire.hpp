// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "comm/placement/traffic/movement.hpp"
#include "kernels/vector_errors.hpp"
#include "workloads/batches/execution.hpp"

namespace shardmark::workloads {

/// forward: vectors from their owners to the homes of the samples; backward: their gradients to the owners.
enum class Direction : std::size_t { forward, backward };
constexpr std::size_t number(Direction direction) { return static_cast<std::size_t>(direction); }

/// In what types the vectors and ids of a case travel, and, while it is watched, what that does to the vectors.
class Wire {
 public:
  Wire(WireTypes types, placement::IdType ids) : types_(types), ids_(ids) {}

  ValueType type(Direction direction) const {
    return direction == Direction::forward ? types_.forward : types_.backward;
  }
  placement::IdType ids() const { return ids_; }

  /// While watched, everything that this rank sends is compared with what will be received.
  void watch(bool on) { watched_ = on; }
  bool watched() const { return watched_; }
  void add_error(Direction direction, const kernels::VectorErrors& errors) { errors_[number(direction)] += errors; }
  const kernels::VectorErrors& error(Direction direction) const { return errors_[number(direction)]; }

 private:
  WireTypes types_;
  placement::IdType ids_;
  bool watched_ = false;
  std::array<kernels::VectorErrors, 2> errors_;
};

}  // namespace shardmark::workloads
