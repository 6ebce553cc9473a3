// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"

namespace shardmark {

/// How the exchanges of one group of ranks compare with MPI_Alltoallv, by size and shape of the traffic: what `auto`
/// picks from.
struct ExchangeCalibration {
  struct Cell {
    std::int64_t bytes = 0;  ///< from rank to rank, in the mean
    bool skewed = false;     ///< one rank receives a multiple of what the others do
    /// By exchange: time over that of MPI_Alltoallv in the same repeat, both the maximum over ranks; as good or better
    /// in three of four repeats.
    std::vector<double> ratios;
  };

  int ranks = 1;
  int nodes = 1;
  std::vector<std::string> exchanges;
  std::vector<Cell> cells;

  /// The exchange (its number in `exchanges`) among those with allowed[number] that beats MPI_Alltoallv by more than 5
  /// % at the measured sizes below and above `bytes`, and does so most; none: MPI_Alltoallv. Nothing is foretold for
  /// more than four times the largest measured size.
  std::optional<std::size_t> best(double bytes, bool skewed, const std::vector<bool>& allowed) const;
};

/// Whether the busiest rank's traffic is this far above the mean.
inline bool is_skewed(double busiest, double mean) { return busiest > 1.5 * mean; }

std::string to_json_text(const ExchangeCalibration& calibration);
/// Throws InputError for what is no calibration or names unknown exchanges.
ExchangeCalibration calibration_from_json(std::string_view text);

/// The same in files. InputError names the file.
void write_calibration(const std::string& file, const ExchangeCalibration& calibration);
ExchangeCalibration read_calibration(const std::string& file);

/// Measures what `auto` may pick, for at most about `seconds`; messages say on rank 0's stderr what goes on.
/// Collective; the same result on every rank.
ExchangeCalibration calibrate(const Communicator& comm, double seconds);

/// The calibration that belongs to this communicator: the one that was set, or one of half a second made now. It lives
/// as long as the communicator's MPI handle. Collective.
const ExchangeCalibration& calibration_of(const Communicator& comm);
/// InputError when it was made with another number of ranks or nodes.
void set_calibration(const Communicator& comm, ExchangeCalibration calibration);

}  // namespace shardmark
