// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "comm/route.hpp"
#include "workloads/transfer/addresses.hpp"

namespace shardmark {

/// The route, in elements, of the vectors of the chosen slots from their owners to the homes of the samples, and where
/// they lie: appended to the owner's buffer by (home rank, slot), to the home's buffer by slot. Every rank computes it
/// from the counts, without a handshake; `bags` bound them.
Route add_vector_route(const ShardLayout& layout, const BagCounts& bags, const VectorCounts& counts,
                       const std::function<bool(const Slot&)>& chosen, Addresses& addresses);

/// Addresses with nothing in them yet: no vector has an address.
Addresses empty_addresses(const ShardLayout& layout);

}  // namespace shardmark
