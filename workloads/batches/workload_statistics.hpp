// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/communicator.hpp"
#include "comm/placement/statistics/lookup_statistics.hpp"
#include "comm/placement/statistics/measured_ids.hpp"
#include "datasets/sample_source.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark::workloads {

/// Returns how the ids of a data file are distributed over the rows of a workload's tables, under the options' id rule:
/// those of its first 16 Mi samples, or of four global batches where these are more. They are read from
/// statistics_file(data.file), which is written when it is not there, or is of another state of the file, other tables
/// or another rule; where it cannot be written, this is reported to `notice`. Throws InputError when the data cannot be
/// used for the tables.
placement::MeasuredIds measured_ids_of(const Workload& workload, const DataOptions& data,
                                       const datasets::Notice& notice);

/// Returns the name FILE.statistics.json. The file holds {"format": "shardmark-statistics/1", "of": what it depends on,
/// "ids": measured_ids.hpp}.
std::string statistics_file(const std::string& data_file);

/// Returns how the ids of a workload are distributed over the rows: as in the data file where there is one, else by the
/// law of its generator. For PlanRequest::ids.
placement::IdStatistics id_statistics_of(const Workload& workload, const DataOptions& data,
                                         const datasets::Notice& notice);

/// Returns the statistics of the lookups, which the workload must outlive.
placement::LookupStatistics lookup_statistics_of(const Workload& workload, const DataOptions& data,
                                                 const datasets::Notice& notice);

/// Returns id_statistics_of for ranks that need them together: rank 0 reads the file. Collective.
placement::IdStatistics id_statistics_of(const comm::Communicator& comm, const Workload& workload,
                                         const DataOptions& data, const datasets::Notice& notice);

}  // namespace shardmark::workloads
