// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "comm/datatype.hpp"

namespace shardmark::comm {

/// Holds arguments of MPI_Alltoallw, one per peer: a single value of a datatype that holds offset and count, or
/// nothing.
struct TypePerPeer {
  std::vector<Datatype> owners;
  std::vector<MPI_Datatype> types;
  std::vector<int> counts;

  TypePerPeer(const std::vector<std::int64_t>& elements, const std::vector<std::int64_t>& offsets,
              std::int64_t element_bytes, std::int64_t limit) {
    for (std::size_t peer = 0; peer < elements.size(); ++peer) {
      const bool any = elements[peer] > 0;
      owners.push_back(any ? Datatype::run_of_elements(offsets[peer], elements[peer], element_bytes, limit)
                           : Datatype());
      types.push_back(owners.back().get());
      counts.push_back(any ? 1 : 0);
    }
  }
};

}  // namespace shardmark::comm
