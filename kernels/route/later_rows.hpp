// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/route/bucketize.hpp"

namespace shardmark::kernels {

template <class Exec>
struct LaterRowsWorkspace {
  Scratch<Exec, std::int64_t> offsets{"shardmark::later_offsets"}, indices{"shardmark::later_indices"};
  Scratch<Exec, float> weights{"shardmark::later_weights"};
};

/// Returns the bags without the ids below first_row[feature]; the other ids are counted from there. first_row:
/// [features]; where it is 0 all ids stay, which may be any keys. Valid until the next call.
template <class Exec>
Bags<Exec, std::int64_t> later_rows(const Exec& exec, ConstArray<Exec, std::int64_t> first_row,
                                    const Bags<Exec, std::int64_t>& bags, LaterRowsWorkspace<Exec>& workspace);

}  // namespace shardmark::kernels
