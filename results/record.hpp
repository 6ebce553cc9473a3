// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/phase.hpp"

namespace shardmark::results {

struct PhaseTime {
  std::string name;
  double median_ms = 0.0;                   ///< median over the steps of the maximum over the ranks
  double mean_over_ranks_ms = 0.0;          ///< median over the steps of the mean over the ranks
  std::int64_t bytes = 0;                   ///< per step, of the busiest rank: sent; 0 in lookup and dense
  std::optional<double> predicted_ms = {};  ///< before it ran
  std::optional<double> least_ms = {};      ///< that the machine's measured ceilings allow for the same bytes
  /// This is the part of the phase in the critical path, from when the last rank left the phase before until the last
  /// left this one, of the mean step scaled to the median. The parts of all phases add up to the median, but for
  /// waiting for a batch that is prefetched. It is 0 in phases that are hidden behind other steps.
  std::optional<double> path_ms = {};

  bool operator==(const PhaseTime&) const = default;
};

/// Holds the milliseconds of whole steps; each sample is one step's maximum over the ranks.
struct StepTime {
  double median = 0.0;
  double low = 0.0, high = 0.0;  ///< 95 % confidence interval of the median, over the visits (results/statistics.hpp)
  std::int64_t n = 0;
  std::vector<double> samples;       ///< [n], in the order of measurement
  std::vector<std::int64_t> visits;  ///< how many samples each visit took; empty: each is one of its own

  /// Returns the number of values of which the interval was taken.
  std::int64_t visit_count() const { return visits.empty() ? n : std::ssize(visits); }

  bool operator==(const StepTime&) const = default;
};

/// Summarizes the samples, in milliseconds: the median of all, and the interval of the median of the visits' medians,
/// which is widened to contain the median of all. Throws std::invalid_argument as medians_of_visits() does.
StepTime step_time(std::vector<double> samples_ms, std::vector<std::int64_t> visits = {});

/// Returns the rate that is reported: global_batch / median step.
double samples_per_second(std::int64_t global_batch, double median_ms);

/// Measures what a narrow wire did to the vectors x (pooled embeddings, rows or gradients) that travelled: max over
/// vectors of max |error| / max |x|, and sqrt(sum error^2 / sum x^2). It is 0 for fp32.
struct VectorError {
  double max = 0.0;
  double rms = 0.0;

  bool operator==(const VectorError&) const = default;
};
struct WireError {
  VectorError forward, backward;

  bool operator==(const WireError&) const = default;
};

/// Names the detail that counts, by table or weights, the values for which the check of a case cannot tell whether they
/// are right. It is absent where there are none.
inline constexpr const char* unjudged_field = "untold";

/// Names the detail with the first value that is wrong, and the expected one. It is absent where none is wrong.
inline constexpr const char* first_wrong_field = "first_wrong";

/// Names the detail that tells the jobs of a merged file from each other: scripts/measure puts it there.
inline constexpr char part_field[] = "part";

/// Names the detail that distinguishes plans of one name: the digest of the case's plan.
inline constexpr char plan_digest_field[] = "plan_digest";

/// Holds one measured case: the design's record. docs/record.md states each field with its unit.
struct CaseRecord {
  std::string workload;
  std::string plan;
  /// Holds {name: value in effect} of every option that the program had: transfer, exchange, dtype, ... Nothing else in
  /// this record depends on which those are, but for the batch.
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
  std::vector<std::string> changed;  ///< names of those whose value is not the workload's or the program's own
  std::int64_t ranks = 1;
  std::int64_t threads = 1;             ///< per rank
  std::optional<WireError> wire_error;  ///< of the checked steps
  StepTime step_ms;
  double samples_per_s = 0.0;
  std::vector<PhaseTime> phases;           ///< in the order of phase_names
  std::optional<double> communication_ms;  ///< in exchanges and other collective calls
  std::optional<double> exposed_ms;        ///< those of them in which the rank computed nothing
  double imbalance = 1.0;                  ///< of the lookup: maximum over the ranks / mean over the ranks
  std::int64_t sent_bytes_max = 0;         ///< off-rank bytes of a step, of the rank that sends most
  std::optional<double> predicted_ms;
  std::int64_t checked_steps = 0;  ///< 0: unchecked
  std::int64_t wrong = 0;          ///< values that differ from the reference
  /// Holds any further fields, merged into the top level: seed, picked, bound, ... They may not repeat a name above.
  nlohmann::ordered_json details = nlohmann::ordered_json::object();

  /// Returns the value of an option as people read it; "-" where the record lacks it.
  std::string option(std::string_view name) const;
  /// Returns the samples per step over all ranks; 1 where the record does not say.
  std::int64_t global_batch() const;
  /// Returns what tells the step from others: workload, plan by its digest, options, ranks and threads; empty where the
  /// record has no digest.
  std::string step() const;
  /// Returns whether both have the option, with other values.
  bool differs(const CaseRecord& other, std::string_view name) const;

  bool operator==(const CaseRecord&) const = default;
};

/// Writes one line of a results file. Throws std::invalid_argument when `details` repeats the name of a field.
nlohmann::ordered_json to_json(const CaseRecord& record);

/// Reads such a line; fields that are not in CaseRecord go to `details`. `origin` is "file:line". Throws InputError
/// naming origin and field when one is absent, of another type, not finite or out of range, or when n is not the number
/// of samples.
CaseRecord case_record_from_json(const nlohmann::ordered_json& json, const std::string& origin);

}  // namespace shardmark::results
