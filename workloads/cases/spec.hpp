// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/batch.hpp"
#include "reference/dense/dense_spec.hpp"
#include "reference/table.hpp"
#include "workloads/cases/published.hpp"

namespace shardmark::workloads {

enum class IdDistribution { power_law, uniform };

inline constexpr std::array id_distributions{
    Choice<IdDistribution>{"power_law", "P(i) ~ (i + 1)^-alpha, the generator of distributed-embeddings",
                           IdDistribution::power_law},
    Choice<IdDistribution>{"uniform", "every row equally likely", IdDistribution::uniform},
};
constexpr auto choices_of(IdDistribution) { return Choices{"distribution", id_distributions}; }

/// Says that a share of the ids, 0 to 1, hot or not, exchange their rows every so many batches.
struct Drift {
  double share = 0.0;
  std::int64_t every = 1;

  bool on() const { return share > 0.0; }
  bool operator==(const Drift&) const = default;
};

/// Configures how a generator draws ids.
struct IdSpec {
  IdDistribution distribution = IdDistribution::power_law;
  double alpha = 1.05;     ///< power_law: P(i) ~ (i + 1)^-alpha
  bool shuffled = false;   ///< hot ids scattered over the table by a seeded permutation instead of 0 being the hottest
  bool ragged = false;     ///< 0 to 2 x hotness ids, and segments, per sample instead of always as many
  bool weighted = false;   ///< draw a weight per id too
  std::int64_t shift = 0;  ///< rows by which all ids move from one batch to the next, modulo the rows of the table
  Drift drift = {};
  /// Is how many of the distinct rows of a batch the batch before has too, 0 to 1, by table; absent: as the law has it.
  std::optional<double> overlap = {};
  // Of tables of any keys (key_births.hpp):
  double fresh = 0.0;          ///< share of the different keys that a batch can name which none has named before
  std::int64_t half_life = 0;  ///< batches after which half of the keys have died, and others are hot; 0: none dies

  /// Returns whether later batches name others than earlier ones by more than chance.
  bool moves() const { return shift > 0 || drift.on() || overlap || fresh > 0.0 || half_life > 0; }
};

/// Describes a batch and the tables that it reads: specs/<name>.json, or a file of the user's in the same format.
struct Workload {
  std::string name;
  std::string description;
  std::vector<Table> tables;
  std::vector<Feature> features;
  std::int64_t global_batch = 0;
  std::int64_t batch_per_rank = 0;  ///< --batch-per-rank: global_batch follows from it (share_batch); 0: not given
  IdSpec ids;
  std::vector<std::string> plans;      ///< planners that `compare` takes when none is named
  std::int64_t replicate_rows = 6000;  ///< tables of at most so many rows are "small" to the mixed planner
  std::int64_t tt_min_rows = 0;        ///< tables of fewer rows are dense where the storage tt is selected for them
  std::optional<DenseSpec> dense;      ///< published behind the embeddings, without `widths` (dense_spec_of.hpp)
  std::vector<PublishedStep> published_steps;
  std::optional<PublishedLookup> published_lookup;
  std::int64_t scale = 1;  ///< row counts have been divided by this
};

/// Returns the names of the workloads that are built in, sorted.
std::vector<std::string> builtin_workloads();

/// Returns the text of a small spec of that name, which runs as it is: docs/examples/my-tables.json.
std::string example_spec(const std::string& name);

/// Loads a built-in workload by name, or a spec file (a name that ends in .json), and scales its rows. Throws
/// InputError naming the file and key.
Workload load_workload(const std::string& name_or_file, std::string_view scale = "1");

/// Returns the rows of the table that each feature reads.
std::vector<std::int64_t> rows_of_features(const Workload& workload);

/// Returns the ids that the table of each feature has.
std::vector<KeyRange> keys_of_features(const Workload& workload);

/// Returns the number of values that each feature gives for a sample: the dim of its table for each of its bags.
std::vector<std::int64_t> output_widths(const Workload& workload);

/// Throws InputError, prefixed by `where`, for a segment rank that is none, or that a feature has no segments or a
/// pooling for, and for segments that cannot share the hotness evenly.
void check_segments(const Feature& feature, const std::string& where);

/// Divides the rows of every table by `divisor`, rounding up, so that no table vanishes. Row shapes of cores that were
/// given for the whole table are left to be chosen.
void scale_rows(Workload& workload, std::int64_t divisor);

/// Makes tables of fewer rows than tt_min_rows dense.
void keep_small_tables_dense(Workload& workload);

/// Makes the global batch that of so many ranks, where the batch of a rank is given. Throws InputError where 64 bits do
/// not count its samples.
void share_batch(Workload& workload, int ranks);

/// Parses "1", "1/64" or "64" into the divisor 1, 64, 64. Throws InputError.
std::int64_t parse_scale(std::string_view text);

nlohmann::ordered_json to_json(Optimizer optimizer);
nlohmann::ordered_json to_json(Workload workload);
Workload workload_from_json(const nlohmann::ordered_json& json, const std::string& origin);

}  // namespace shardmark::workloads
