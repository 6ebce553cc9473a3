// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "reference/named.hpp"

namespace shardmark {

/// Where repeated ids become one before rows are asked for (RowTransfer::unique_rows).
enum class Dedup { automatic, off, local, node };

struct DedupChoice {
  std::string_view name;
  std::string_view description;
  Dedup value;
};

inline constexpr std::array dedups{
    DedupChoice{"auto", "local with transfer unique_rows, off with the others", Dedup::automatic},
    DedupChoice{"off", "a row for every id", Dedup::off},
    DedupChoice{"local", "each row once to every rank that asks for it", Dedup::local},
    DedupChoice{"node",
                "each row once to every node: asked for, and handed on, by its rank with the owner's local rank",
                Dedup::node},
};

inline Dedup dedup_named(std::string_view name) { return choice_named(dedups, "dedup", name).value; }
inline std::string_view name_of(Dedup dedup) { return std::ranges::find(dedups, dedup, &DedupChoice::value)->name; }

}  // namespace shardmark
