// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "reference/named.hpp"

namespace shardmark {

/// Where repeated ids become one, when rows travel one by one (RowTransfer::unique_rows). Results are the same.
/// local and owner are HybridBackend's emb_unique and emb_shard_unique, node its hierarchical lookup.
enum class Dedup { automatic, off, local, owner, local_owner, node };

struct DedupChoice {
  std::string_view name;
  std::string_view description;
  Dedup value;
};

inline constexpr std::array dedups{
    DedupChoice{"auto",
                "with transfer unique_rows local, or node where the busiest node then sends others at least a fifth "
                "less in the first batch; off with the others",
                Dedup::automatic},
    DedupChoice{"off", "a row for every id", Dedup::off},
    DedupChoice{"local", "each row once to every rank that asks for it", Dedup::local},
    DedupChoice{"owner", "a row for every id, but read once by its owner for all of them", Dedup::owner},
    DedupChoice{"local+owner", "each row once to every rank that asks for it, and read once for all ranks",
                Dedup::local_owner},
    DedupChoice{"node",
                "each row once to every node: asked for, and handed on, by its rank with the owner's local rank",
                Dedup::node},
};

inline Dedup dedup_named(std::string_view name) { return choice_named(dedups, "dedup", name).value; }
inline std::string_view name_of(Dedup dedup) { return std::ranges::find(dedups, dedup, &DedupChoice::value)->name; }

/// Whether a rank asks for a row once, however many of its ids name it.
constexpr bool asks_once(Dedup dedup) { return dedup != Dedup::off && dedup != Dedup::owner; }
/// Whether an owner looks for rows that several ids or ranks ask it for, and reads them once.
constexpr bool reads_once(Dedup dedup) { return dedup == Dedup::owner || dedup == Dedup::local_owner; }

}  // namespace shardmark
