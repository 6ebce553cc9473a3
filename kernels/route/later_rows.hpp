// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/route/bucketize.hpp"

namespace shardmark::kernels {

template <class Exec>
struct LaterRowsWorkspace {
  Scratch<Exec, std::int64_t> offsets{"shardmark::later_offsets"}, indices{"shardmark::later_indices"};
  Scratch<Exec, float> weights{"shardmark::later_weights"};
};

/// Says of which features the later rows are wanted: feature f has bags first_bag[f] .. first_bag[f + 1] of the result,
/// as many as it came with, or none, and its ids below first_row[f] are left out.
template <class Exec>
struct LaterRows {
  ConstArray<Exec, std::int64_t> first_row;  ///< [features]; where it is 0 all ids stay, which may be any keys
  ConstArray<Exec, std::int64_t> first_bag;  ///< [features + 1]
  std::int64_t bags = 0;                     ///< of these features
  std::int64_t ids = 0;                      ///< of their bags, as they came
};

/// Returns the bags of the wanted features without the ids of their tables' first rows; the other ids are counted from
/// there. Valid until the next call.
template <class Exec>
Bags<Exec, std::int64_t> later_rows(const Exec& exec, const LaterRows<Exec>& wanted,
                                    const Bags<Exec, std::int64_t>& bags, LaterRowsWorkspace<Exec>& workspace);

}  // namespace shardmark::kernels
