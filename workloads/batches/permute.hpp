// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace shardmark::workloads {

/// Permutes ids by a seeded bijection of [0, rows), without a table: a Feistel network on the next even number of bits,
/// walked until it falls inside (Black and Rogaway, CT-RSA 2002).
std::int64_t permute(std::uint64_t seed, std::int64_t rows, std::int64_t id);

/// Returns the id that permute() maps to `place`.
std::int64_t permuted_back(std::uint64_t seed, std::int64_t rows, std::int64_t place);

}  // namespace shardmark::workloads
