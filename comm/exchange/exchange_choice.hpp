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

/// An ExchangeChoice is one entry of the table `exchanges`: a shape, and the functions that make an exchange of it.
struct ExchangeChoice : placement::ExchangeShape {
  /// Makes the exchange. Collective.
  std::unique_ptr<Exchange> (*make)(const Communicator&, int number);
  /// Returns why these ranks cannot use it, the same on all of them; empty where they can. Collective.
  std::string (*unusable)(const Communicator&);
  /// Returns the bytes that the exchange keeps in buffers of its own for each byte of the largest route that it
  /// carries, where the bytes of a route are those that its busiest rank sends or receives. The estimate of a case's
  /// memory uses it.
  double (*keeps)(const Communicator&, int number);
  /// Returns the bytes that it allocates on this rank whatever it carries.
  double (*has)(const Communicator&);
  /// Names the entry of the table `reductions` that adds partial sums where this exchange moves the rest; empty: MPI's.
  std::string_view reduction = {};
};

/// Returns the entry of a class that is constructed from (comm) or (comm, number). Its static unusable(comm),
/// keeps(comm, number) and has(comm), as far as it has them, become those of the entry; without them it is always
/// usable, keeps 0 and has 0.
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
