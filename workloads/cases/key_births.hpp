// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {

/// Says how many keys are born and die in the generated batches of a table of any keys, by IdSpec::fresh and
/// IdSpec::half_life. Keys have numbers: [0, expected) are there in batch 0; batch b adds [expected + b fresh, expected
/// + (b + 1) fresh); where keys die, the one that follows number n has number n + expected.
struct KeyBirths {
  std::int64_t expected = 0;
  std::int64_t places = 0;  ///< of ids in a batch: those that it has, or may have where bags are ragged
  std::int64_t fresh = 0;   ///< keys that a batch alone may name first, each at one place
  std::int64_t life = 0;    ///< batches that a key lives; 0: for ever

  /// Returns the most keys that batches [0, batches) name.
  std::int64_t most_keys(std::int64_t batches) const;
};

/// Returns those of a table; of one whose keys are its rows, none are born.
KeyBirths births_of(const Workload& workload, std::int64_t table);

/// Returns the places of ids that a sample of a feature has in a batch (KeyBirths::places).
std::int64_t places_of_sample(const Workload& workload, const Feature& feature);

/// Throws InputError where keys are to be born and no table has a place for them, or to be born in two ways.
void check_births(const Workload& workload);

}  // namespace shardmark::workloads
