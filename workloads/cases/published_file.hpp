// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/cases/published.hpp"

namespace shardmark::workloads {

inline constexpr std::string_view published_format = "shardmark-published/1";

/// Is a step of a file of published steps: a PublishedStep, and what else is needed to predict it.
struct PublishedCase {
  std::string workload;                      ///< name or spec file
  std::string group;                         ///< whose errors are summed up together, such as the device
  std::string software;                      ///< that ran it, in the words of who published it
  std::optional<int> nodes;                  ///< absent: as many as the machine's ranks of a node make
  std::optional<std::int64_t> global_batch;  ///< absent: the workload's
  PublishedStep step;                        ///< its machine is empty where none describes what it ran on

  /// Returns whether nothing but ranks and nodes, and who published it, is another.
  bool differs_in_ranks_alone(const PublishedCase& other) const;
};

/// Is a file of steps that anybody published, and how far predictions of them are off shall be seen.
struct PublishedFile {
  std::string title;
  std::string notice;       ///< stands wherever a number of the file is shown; empty: none
  std::string description;  ///< for readers
  std::vector<PublishedCase> steps;
};

/// Returns the names of the files that are built in (cases/published/), sorted.
std::vector<std::string> builtin_published();

/// Loads a file that is built in by its name, or another (a name that ends in .json):
///   {"format": "shardmark-published/1", "title", "notice", "description", "steps": [{"workload", "group", "software",
///    "machine", "ranks", "nodes", "global_batch", "plan", "set": ["KEY=VALUE", ...], "ms", "source", "ids_at_owners",
///    "evaluations", "used"}, ...]}
/// where title, workload, ranks, plan, ms and source must be given. Throws InputError naming the file, the line and the
/// key.
PublishedFile load_published(const std::string& name_or_file);

}  // namespace shardmark::workloads
