// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/communicator.hpp"

namespace shardmark::workloads {

/// Identifies what a calibration holds for, in words, and as 16 hexadecimal digits (XXH64 of the words): processors and
/// their caches of all hosts, how many ranks share a node and on how many nodes (one, or several) they are, threads per
/// rank, the MPI library, compiler and flags.
struct Fingerprint {
  std::string words, digits;
};

/// Returns the fingerprint of the present ranks. Collective; the same on every rank. Kokkos has started.
Fingerprint fingerprint_of(const comm::Communicator& world);

}  // namespace shardmark::workloads
