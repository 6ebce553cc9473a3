// SPDX-License-Identifier: Apache-2.0
#include "comm/reduction/library_reduction.hpp"

#include "comm/reduce_scatter.hpp"

namespace shardmark::comm {

void LibraryReduction::add(std::span<const float> partials, std::span<float> sums) {
  comm::reduce_scatter(comm_, partials, counts_, sums);
  count_shares();
}

void LibraryReduction::gather(std::span<const float> own, std::span<float> all) {
  all_gather_v(comm_, own, counts_, all);
  count_own();
}

}  // namespace shardmark::comm
