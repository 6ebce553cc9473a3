// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/communicator.hpp"
#include "comm/placement/statistics/lookup_statistics.hpp"
#include "comm/placement/statistics/measured_ids.hpp"
#include "datasets/sample_source.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark::workloads {

/// How the ids of a data file fall on the rows of a workload's tables, under the options' id rule: of its first 16 Mi
/// samples, or four global batches where these are more. Read from statistics_file(data.file), which is written when it
/// is not there, or is of another state of the file, other tables or another rule; where it cannot be written, `notice`
/// is told. Throws InputError when the data cannot be used for the tables.
placement::MeasuredIds measured_ids_of(const Workload& workload, const DataOptions& data,
                                       const datasets::Notice& notice);

/// FILE.statistics.json: {"format": "shardmark-statistics/1", "of": what it depends on, "ids": measured_ids.hpp}.
std::string statistics_file(const std::string& data_file);

/// How the ids of a workload fall on the rows: as in the data file where there is one, else by the law of its
/// generator. For PlanRequest::ids.
placement::IdStatistics id_statistics_of(const Workload& workload, const DataOptions& data,
                                         const datasets::Notice& notice);

/// The workload outlives them.
placement::LookupStatistics lookup_statistics_of(const Workload& workload, const DataOptions& data,
                                                 const datasets::Notice& notice);

/// id_statistics_of for ranks that need them together: rank 0 looks at the file. Collective.
placement::IdStatistics id_statistics_of(const comm::Communicator& comm, const Workload& workload,
                                         const DataOptions& data, const datasets::Notice& notice);

}  // namespace shardmark::workloads
