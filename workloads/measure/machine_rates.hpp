// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "kernels/row_setting.hpp"

namespace shardmark::workloads {

/// Says what the rates of a machine are measured on; sizes are those of one rank.
struct RateSizes {
  std::uint64_t array_bytes = std::uint64_t{256} << 20;  ///< each of the three arrays that are streamed
  std::uint64_t table_bytes = std::uint64_t{1} << 30;    ///< the table whose rows are read
  std::int64_t rows = std::int64_t{1} << 18;             ///< of one round
  int rounds = 5;                                        ///< of which the best counts
};

/// Is how fast one rank moves memory while all others do the same.
struct Rate {
  std::string name;               ///< triad, copy, gather or read_modify_write
  std::int64_t dim = 0;           ///< fp32 values per row; 0: not about rows
  double bytes_per_second = 0;    ///< in the best round of this rank
  kernels::RowSetting setting{};  ///< with which that was reached, for rows
};

struct MachineRates {
  std::vector<Rate> rates;
  double huge_page_share = 0;  ///< of the table's memory, 0 to 1
};

/// Measures the ceilings that kernels on tables are compared with: streams (triad, copy), reads of random rows (gather)
/// and their update in place (read_modify_write). Needs table_bytes + 3 array_bytes of memory per rank. Collective;
/// Kokkos must be initialised.
MachineRates machine_rates(const comm::Communicator& comm, const RateSizes& sizes);

}  // namespace shardmark::workloads
