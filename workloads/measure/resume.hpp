// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "results/json_lines.hpp"

namespace shardmark::workloads {

struct CaseState;
struct Job;
class Prepared;

/// Holds what an earlier job measured of the cases of this one, and left in its results file.
struct Earlier {
  std::string file;
  results::Results results;

  /// Returns the number of rounds that were finished.
  std::int64_t rounds() const;
};

/// Reads what `file` (FILE.partial, or the file of an interrupted job) holds, on rank 0 for all. Throws InputError if
/// it cannot be read, if its job came to its end, or if it ran elsewhere than `environment` says of this job: on other
/// processors, as another program or with another seed. Other hosts are no obstacle. Collective.
Earlier read_earlier(const comm::Communicator& world, const std::string& file,
                     const nlohmann::ordered_json& environment);

/// Lets the cases go on where the earlier job stopped: their samples, what stopped them, and for which the budget had
/// no time. Returns the names of its cases that are none of these: they have other options, or a planner made another
/// plan. Throws InputError if none of them is.
std::vector<std::string> take_over(const Earlier& earlier, const Job& job, const Prepared& prepared,
                                   std::vector<CaseState>& states);

/// Returns the seconds that the visits of these cases took.
double visit_seconds(const std::vector<CaseState>& states);

}  // namespace shardmark::workloads
