// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/exchange/exchange_choice.hpp"

namespace shardmark::comm {

/// A choice of the table `exchanges` and its number: what a user calls "pairwise", "bruck" or "bruck:4".
struct NamedExchange {
  const ExchangeChoice* choice = nullptr;
  int number = 0;

  /// "pairwise"; with its number, given or not, where it takes one: "bruck:2".
  std::string name() const;

  /// Why these ranks cannot use it; empty: they can. Collective.
  std::string unusable(const Communicator& comm) const { return choice->unusable(comm); }

  /// Collective. InputError, the same on all ranks, with the reason when they cannot use it.
  std::unique_ptr<Exchange> make(const Communicator& comm) const;
};

/// Throws InputError: unknown name, printing the valid ones; a number that does not fit or that the choice does not
/// take.
NamedExchange exchange_named(std::string_view text);

/// All of the table, with their default numbers.
std::vector<NamedExchange> all_exchanges();

/// The exchanges that a user asked for, "all" standing for all that these ranks can use. Rank 0 says on stderr which
/// are left out and why. Collective. Throws InputError as above and when one that is named alone cannot be used.
std::vector<NamedExchange> usable_exchanges(const Communicator& comm, std::span<const std::string> names);

}  // namespace shardmark::comm
