// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "comm/exchange/exchange.hpp"
#include "comm/placement/traffic/movement.hpp"
#include "comm/placement/traffic/wire_ids.hpp"
#include "kernels/wire/vector_errors.hpp"
#include "workloads/batches/execution.hpp"

namespace shardmark::workloads {

/// Names the direction of a transfer. forward: pooled embeddings from their owners to the homes of the samples;
/// backward: their gradients to the owners.
enum class Direction : std::size_t { forward, backward };
constexpr std::size_t number(Direction direction) { return static_cast<std::size_t>(direction); }

/// Holds the types in which the vectors and ids of a case travel, and, while it is watched, what that does to the
/// vectors.
class Wire {
 public:
  Wire(WireTypes types, placement::IdType ids) : types_(types), ids_(ids) {}

  ValueType type(Direction direction) const {
    return direction == Direction::forward ? types_.forward : types_.backward;
  }
  placement::IdType ids() const { return ids_; }

  /// Switches watching: while watched, everything that this rank sends is compared with what will be received.
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

/// Sends local rows to the ranks that hold them: they are written and sent in the type that the plan allows, and
/// widened once, into the int64 that the kernels of the owner read.
class IdWire {
 public:
  explicit IdWire(placement::IdType type) : type_(type) {}

  /// Calls write(array [count] of std::int32_t or std::int64_t), which fills in what exchange() sends.
  template <class Write>
  void write(std::int64_t count, const Write& write) {
    written_ = count;
    if (type_ == placement::IdType::int32)
      write(narrow_sent_.first(count));
    else
      write(wide_sent_.first(count));
  }

  /// Fills ids [route.receive_total() + own]: what is received, then the first `own` ids that were written behind those
  /// to send. Collective.
  void exchange(comm::Exchange& exchange, const comm::Route& route, const DeviceArray<std::int64_t>& ids) {
    const std::int64_t end = route.receive_total();
    const auto others = part(ids, 0, end), own = part(ids, end, static_cast<std::int64_t>(ids.extent(0)));
    if (type_ == placement::IdType::int32) {
      const auto received = narrow_received_.first(end);
      send(exchange, route, narrow_sent_.first(written_), received, own);
      Kokkos::deep_copy(Execution(), others, received);
    } else {
      send(exchange, route, wide_sent_.first(written_), others, own);
    }
  }

 private:
  template <class T>
  void send(comm::Exchange& exchange, const comm::Route& route, const DeviceArray<T>& written,
            const DeviceArray<T>& received, const DeviceArray<std::int64_t>& own) const {
    comm::run(exchange, route, std::span<const T>(written.data(), static_cast<std::size_t>(route.send_total())),
              std::span(received.data(), received.extent(0)));
    const std::int64_t begin = route.send_total();
    Kokkos::deep_copy(Execution(), own, part(written, begin, begin + static_cast<std::int64_t>(own.extent(0))));
  }

  placement::IdType type_;
  std::int64_t written_ = 0;
  DeviceScratch<std::int32_t> narrow_sent_{"shardmark::ids_sent"}, narrow_received_{"shardmark::ids_received"};
  DeviceScratch<std::int64_t> wide_sent_{"shardmark::wide_ids_sent"};
};

}  // namespace shardmark::workloads
