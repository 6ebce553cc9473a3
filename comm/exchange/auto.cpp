// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/auto.hpp"

#include <algorithm>

#include "comm/collectives.hpp"
#include "comm/exchange/named_exchange.hpp"

namespace shardmark::comm {

Auto::Auto(const Communicator& comm)
    : comm_(comm), calibration_(calibration_of(comm)), made_(calibration_.exchanges.size()) {
  for (const std::string& name : calibration_.exchanges) {
    const NamedExchange named = exchange_named(name);
    for_any_route_.push_back(named.choice->in_auto == InAuto::any_route);
    for_known_routes_.push_back(named.choice->in_auto != InAuto::never && named.unusable(comm).empty());
  }
  library_ = std::ranges::find(calibration_.exchanges, placement::library_exchange) - calibration_.exchanges.begin();
}

void Auto::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  pick(route, element_bytes).run(route, send, receive, element_bytes);
}

Exchange& Auto::pick(const Route& route, std::int64_t element_bytes) {
  const double ranks = comm_.size();
  Seen& seen = seen_.of(route, [&](Seen& fresh) {
    const auto total = static_cast<double>(all_reduce(comm_, route.send_total(), Reduce::sum));
    fresh = {.runs = 0, .elements = total / (ranks * ranks), .skewed = false};
  });
  if (++seen.runs == 2)
    seen.skewed = placement::is_skewed(static_cast<double>(largest_total(comm_, route)), seen.elements * ranks);
  const auto best = calibration_.best(seen.elements * static_cast<double>(element_bytes), seen.skewed,
                                      seen.runs == 1 ? for_any_route_ : for_known_routes_);
  return exchange_numbered(best.value_or(library_));
}

Exchange& Auto::exchange_numbered(std::size_t number) {
  if (!made_[number]) made_[number] = exchange_named(calibration_.exchanges[number]).make(comm_);
  last_ = made_[number].get();
  return *last_;
}

std::string Auto::picked() const {
  std::string names;
  for (std::size_t e = 0; e < made_.size(); ++e)
    if (made_[e]) names += (names.empty() ? "" : "+") + calibration_.exchanges[e];
  return names;
}

}  // namespace shardmark::comm
