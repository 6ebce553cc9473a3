// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/exchange/exchange_choice.hpp"

namespace shardmark::comm {

/// A NamedExchange is a choice of the table `exchanges` and its number: what a user calls "pairwise", "bruck" or
/// "bruck:4".
struct NamedExchange {
  const ExchangeChoice* choice = nullptr;
  int number = 0;

  /// Returns "pairwise", or "bruck:2" where the choice takes a number, whether or not the user gave one.
  std::string name() const;

  /// Returns why these ranks cannot use it; empty where they can. Collective.
  std::string unusable(const Communicator& comm) const { return choice->unusable(comm); }

  /// Makes the exchange. Throws InputError, the same on all ranks, with the reason when they cannot use it. Collective.
  std::unique_ptr<Exchange> make(const Communicator& comm) const;
  /// Makes one that carries GPU memory: for one that chooses automatic_for_gpus(); for one that reads memory of hosts
  /// alone, it staged there.
  std::unique_ptr<Exchange> make_for_gpus(const Communicator& comm) const;
};

/// Returns the exchange that `text` names. Throws InputError for an unknown name, printing the valid ones, and for a
/// number that does not fit or that the choice does not take.
NamedExchange exchange_named(std::string_view text);

/// Returns the exchange of steps for which nobody names one: the library's, or `auto` where kernels run on GPUs.
NamedExchange default_exchange();

/// Returns the exchange of GPU memory that `auto` stands for: nccl where each rank has a GPU of its own, else
/// host_staged. Collective.
NamedExchange automatic_for_gpus(const Communicator& comm);

/// Returns all exchanges of the table, with their default numbers.
std::vector<NamedExchange> all_exchanges();

/// Returns the exchanges that a user asked for, where "all" stands for all that these ranks can use. Rank 0 says on
/// stderr which are left out and why. Collective. Throws InputError as exchange_named() does, and when one that is
/// named alone cannot be used.
std::vector<NamedExchange> usable_exchanges(const Communicator& comm, std::span<const std::string> names);

}  // namespace shardmark::comm
