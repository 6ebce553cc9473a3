// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/named_exchange.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "comm/device_memory.hpp"
#include "comm/exchange/exchanges.hpp"
#include "reference/error.hpp"
#include "reference/named.hpp"
#include "reference/number.hpp"

namespace shardmark::comm {
namespace {

int number_of(const ExchangeChoice& choice, std::string_view text) {
  if (!choice.number.taken()) throw InputError(fmt::format("exchange '{}' takes no number: ':{}'", choice.name, text));
  const auto number = number_in<int>(text);
  if (!number || *number < choice.number.least)
    throw InputError(fmt::format("exchange '{}:{}': expected a number of at least {}; {}", choice.name, text,
                                 choice.number.least, choice.description));
  return *number;
}

void require_usable(const Communicator& comm, const NamedExchange& exchange) {
  if (const std::string reason = exchange.unusable(comm); !reason.empty())
    throw InputError(fmt::format("exchange '{}' cannot be used here: {}", exchange.choice->name, reason));
}

}  // namespace

std::string NamedExchange::name() const {
  return choice->number.taken() ? fmt::format("{}:{}", choice->name, number) : std::string(choice->name);
}

std::unique_ptr<Exchange> NamedExchange::make(const Communicator& comm) const {
  require_usable(comm, *this);
  return choice->make(comm, number);
}

std::unique_ptr<Exchange> NamedExchange::make_for_gpus(const Communicator& comm) const {
  if (choice->chooses) return automatic_for_gpus(comm).make(comm);
  auto exchange = make(comm);
  return exchange->reads_gpus() ? std::move(exchange) : std::make_unique<HostStaged>(comm, std::move(exchange));
}

NamedExchange default_exchange() { return exchange_named(built_for_gpus() ? "auto" : placement::library_exchange); }

NamedExchange automatic_for_gpus(const Communicator& comm) {
  return exchange_named(Nccl::unusable(comm).empty() ? "nccl" : "host_staged");
}

NamedExchange exchange_named(std::string_view text) {
  const auto colon = text.find(':');
  const auto& choice = choice_named(exchanges, "exchange", text.substr(0, colon));
  if (colon == std::string_view::npos) return {&choice, choice.number.by_default};
  return {&choice, number_of(choice, text.substr(colon + 1))};
}

std::vector<NamedExchange> all_exchanges() {
  std::vector<NamedExchange> all;
  for (const auto& choice : exchanges) all.push_back({&choice, choice.number.by_default});
  return all;
}

std::vector<NamedExchange> usable_exchanges(const Communicator& comm, std::span<const std::string> names) {
  std::vector<NamedExchange> usable;
  for (const std::string& name : names) {
    if (name != "all") {
      usable.push_back(exchange_named(name));
      require_usable(comm, usable.back());
      continue;
    }
    for (const NamedExchange& exchange : all_exchanges()) {
      const std::string reason = exchange.unusable(comm);
      if (reason.empty())
        usable.push_back(exchange);
      else if (comm.rank() == 0)
        fmt::print(stderr, "shardmark: exchange {} is left out: {}\n", exchange.name(), reason);
    }
  }
  return usable;
}

}  // namespace shardmark::comm
