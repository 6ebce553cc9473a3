// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "comm/communicator.hpp"
#include "comm/device_memory.hpp"
#include "comm/route.hpp"

namespace shardmark::comm {

/// An Exchange is an all-to-all algorithm: it defines how the elements of a route reach their ranks. An object may keep
/// state between runs (datatypes, requests, buffers). The communicator it was made with must outlive it.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Moves the elements of `route`. `send` holds route.send_total() elements of `element_bytes` bytes, `receive` has
  /// room for route.receive_total(), both by rank as Route says; they must not overlap, and may be null when they are
  /// empty. Throws MpiError, and std::invalid_argument for a route of another number of ranks. Collective.
  virtual void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) = 0;

  /// Says whether run() takes memory of GPUs as well as of hosts.
  virtual bool reads_gpus() const { return false; }

  /// Orders runs by a stream from now on, where this exchange can; follows() says whether it does. Memory of GPUs is
  /// then read behind the work that the stream has when run() is called, and what is received is there for work that
  /// the stream gets later: the host waits for neither. All else is as it is without a stream: sent memory is complete
  /// before run(), and received memory behind it.
  virtual void follow(GpuStream) {}
  virtual bool follows() const { return false; }

  /// These are the two halves of run(): where the exchange follows a stream, work that the stream gets between them
  /// does not wait for what arrives. Of one object one run is under way at a time.
  virtual void start(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
    run(route, send, receive, element_bytes);
  }
  virtual void finish() {}

  /// Returns the names of the exchanges that carried data so far, where this one chooses among others; else empty.
  virtual std::string picked() const { return {}; }

  /// Returns the bytes that the last run handed to MPI for each rank, by rank, if this exchange sends blocks by way of
  /// other ranks; the sizes that ranks exchange on a route's first run are not among them. It is empty for all other
  /// exchanges: they hand MPI what the route says.
  virtual std::span<const std::int64_t> sent() const { return {}; }
};

/// Runs the exchange after it has checked the sizes of the buffers; a route's element is `width` consecutive values (a
/// row of dim floats: dim).
template <class T>
requires std::is_trivially_copyable_v<T>
void run(Exchange& exchange, const Route& route, std::span<const T> send, std::span<T> receive,
         std::int64_t width = 1) {
  if (route.bound() == 0) return;  // on every rank
  if (std::ssize(send) < route.send_total() * width || std::ssize(receive) < route.receive_total() * width)
    throw std::invalid_argument("exchange: a buffer is smaller than the route");
  exchange.run(route, std::as_bytes(send).data(), std::as_writable_bytes(receive).data(),
               width * static_cast<std::int64_t>(sizeof(T)));
}

}  // namespace shardmark::comm
