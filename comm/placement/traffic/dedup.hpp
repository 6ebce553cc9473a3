// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "reference/named.hpp"

namespace shardmark::placement {

/// Says where repeated ids become one, when rows travel one by one (RowTransfer::unique_rows). Results are the same.
/// local and owner are HybridBackend's emb_unique and emb_shard_unique, node its hierarchical lookup.
enum class Dedup { automatic, off, local, owner, local_owner, node };

inline constexpr std::array dedups{
    Choice<Dedup>{"auto",
                  "with transfer unique_rows local, or node where the busiest node then sends others at least a fifth "
                  "less in the first batch; off with the others",
                  Dedup::automatic},
    Choice<Dedup>{"off", "a row for every id", Dedup::off},
    Choice<Dedup>{"local", "each row once to every rank that asks for it", Dedup::local},
    Choice<Dedup>{"owner", "a row for every id, but read once by its owner for all of them", Dedup::owner},
    Choice<Dedup>{"local+owner", "each row once to every rank that asks for it, and read once for all ranks",
                  Dedup::local_owner},
    Choice<Dedup>{"node",
                  "each row once to every node: asked for, and handed on, by its rank with the owner's local rank",
                  Dedup::node},
};
constexpr auto choices_of(Dedup) { return Choices{"dedup", dedups}; }

/// Resolves dedup auto to local, which it is until counts of nodes decide otherwise.
constexpr Dedup without_choice(Dedup dedup) { return dedup == Dedup::automatic ? Dedup::local : dedup; }
/// Returns the dedup of a rank that requests rows from their owners, where its node does not request them together.
constexpr Dedup without_nodes(Dedup dedup) { return dedup == Dedup::node ? Dedup::local : without_choice(dedup); }

/// Returns whether a rank requests a row once, however many of its ids name it.
constexpr bool asks_once(Dedup dedup) { return dedup != Dedup::off && dedup != Dedup::owner; }
/// Returns whether an owner finds rows that several ids or ranks request, and reads them once.
constexpr bool reads_once(Dedup dedup) { return dedup == Dedup::owner || dedup == Dedup::local_owner; }

}  // namespace shardmark::placement
