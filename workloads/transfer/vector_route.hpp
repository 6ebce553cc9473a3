// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "workloads/transfer/row_exchange.hpp"
#include "workloads/transfer/vector_places.hpp"

namespace shardmark::workloads {

/// The pooled vectors of the chosen slots, which travel from their owners to the homes of the samples, and where they
/// lie: appended to the owner's buffer by (home rank, slot), to the home's buffer by slot. Every rank computes it from
/// the counts, without a handshake; `bags` bound them.
RowBlocks add_vector_blocks(const ShardLayout& layout, const BagCounts& bags, const VectorCounts& counts,
                            const std::function<bool(const Slot&)>& chosen, VectorPlaces& places);

/// VectorPlaces with nothing in them yet: no vector has an address.
VectorPlaces no_places(const ShardLayout& layout);

}  // namespace shardmark::workloads
