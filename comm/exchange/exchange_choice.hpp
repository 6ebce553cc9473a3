// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>

#include "comm/exchange/exchange.hpp"
#include "comm/placement/exchange_shapes.hpp"
#include "comm/unusable.hpp"

namespace shardmark::comm {

using placement::ExchangeNumber, placement::InAuto;

/// One entry of the table `exchanges`: a shape, and what makes it.
struct ExchangeChoice : placement::ExchangeShape {
  /// Collective.
  std::unique_ptr<Exchange> (*make)(const Communicator&, int number);
  /// Why these ranks cannot use it, the same on all of them; empty: they can. Collective.
  std::string (*unusable)(const Communicator&);
  /// Bytes of its own that it keeps for each byte of the largest route that it carries, a route having as many as the
  /// busiest rank sends or receives: for the estimate of a case's memory.
  double (*keeps)(const Communicator&, int number);
  /// Bytes that it has on this rank whatever it carries.
  double (*has)(const Communicator&);
  /// The entry of the table `reductions` that adds partial sums where this one moves the rest; empty: MPI's.
  std::string_view reduction = {};
};

/// The entry of a class that is made of (comm) or (comm, number). Its static unusable(comm), if it has one, refuses;
/// its static keeps(comm, number) says what it keeps, and its static has(comm) what it has, where that is anything.
template <class Algorithm>
constexpr ExchangeChoice exchange_choice(std::string_view name, std::string_view reduction = {}) {
  const auto make = [](const Communicator& comm, [[maybe_unused]] int n) -> std::unique_ptr<Exchange> {
    if constexpr (std::constructible_from<Algorithm, const Communicator&, int>)
      return std::make_unique<Algorithm>(comm, n);
    else
      return std::make_unique<Algorithm>(comm);
  };
  const auto keeps = []([[maybe_unused]] const Communicator& comm, [[maybe_unused]] int n) {
    if constexpr (requires { Algorithm::keeps(comm, n); })
      return Algorithm::keeps(comm, n);
    else
      return 0.0;
  };
  const auto has = []([[maybe_unused]] const Communicator& comm) {
    if constexpr (requires { Algorithm::has(comm); })
      return Algorithm::has(comm);
    else
      return 0.0;
  };
  return {placement::shape_of(name), make, unusable_by<Algorithm>, keeps, has, reduction};
}

}  // namespace shardmark::comm
