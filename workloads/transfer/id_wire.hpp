// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/exchange/exchange.hpp"
#include "comm/placement/traffic/wire_ids.hpp"
#include "workloads/batches/execution.hpp"

namespace shardmark::workloads {

/// Local rows on their way to the ranks that hold them: written and sent in the type that the plan allows, and widened
/// once, into the int64 that the kernels of the owner read.
class IdWire {
 public:
  explicit IdWire(placement::IdType type) : type_(type) {}

  /// write(array [count] of std::int32_t or std::int64_t) fills in what exchange() sends.
  template <class Write>
  void write(std::int64_t count, const Write& write) {
    written_ = count;
    if (type_ == placement::IdType::int32)
      write(narrow_sent_.first(count));
    else
      write(wide_sent_.first(count));
  }

  /// ids [route.receive_total() + own]: what is received, then the first `own` ids that were written behind those to
  /// send.
  /// Collective.
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
    const Execution exec;
    exec.fence("shardmark: ids are sent");
    comm::run(exchange, route, std::span<const T>(written.data(), static_cast<std::size_t>(route.send_total())),
              std::span(received.data(), received.extent(0)));
    const std::int64_t begin = route.send_total();
    Kokkos::deep_copy(exec, own, part(written, begin, begin + static_cast<std::int64_t>(own.extent(0))));
  }

  placement::IdType type_;
  std::int64_t written_ = 0;
  DeviceScratch<std::int32_t> narrow_sent_{"shardmark::ids_sent"}, narrow_received_{"shardmark::ids_received"};
  DeviceScratch<std::int64_t> wide_sent_{"shardmark::wide_ids_sent"};
};

}  // namespace shardmark::workloads
