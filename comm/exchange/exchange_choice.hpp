// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>

#include "comm/exchange/exchange.hpp"
#include "comm/unusable.hpp"

namespace shardmark::comm {

/// The number N of an exchange that is named "name:N"; what it means is in the description. No default: it has none.
struct ExchangeNumber {
  int by_default = 0;
  int least = 1;

  bool taken() const { return by_default > 0; }
};

/// When the exchange `auto` may pick it: for any route, for those it has carried before (the others ask and tell sizes
/// on a route's first run, which would be all of them where every batch has new counts), or never.
enum class InAuto { any_route, known_routes, never };

/// One entry of the table `exchanges`.
struct ExchangeChoice {
  std::string_view name;
  std::string_view description;
  ExchangeNumber number;
  InAuto in_auto;
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
  /// Whether it moves bytes inside a node by loads and stores: then a caller may spare it the way and write what the
  /// ranks of its node need where they read it (NodeMemory).
  bool by_loads = false;
};

/// The entry of a class that is made of (comm) or (comm, number). Its static unusable(comm), if it has one, refuses;
/// its static keeps(comm, number) says what it keeps, and its static has(comm) what it has, where that is anything.
template <class Algorithm>
constexpr ExchangeChoice exchange_choice(std::string_view name, std::string_view description, InAuto in_auto,
                                         ExchangeNumber number = {}, std::string_view reduction = {}) {
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
  constexpr bool by_loads = requires { requires Algorithm::by_loads; };
  return {name, description, number, in_auto, make, unusable_by<Algorithm>, keeps, has, reduction, by_loads};
}

}  // namespace shardmark::comm
