// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>

namespace shardmark::placement {

struct MeasuredIds;

/// Describes how ids fall on rows: as they were counted in data, or, without `measured`, drawn independently of each
/// other. Then row i of N has the probability
///   p_i = (G(i + 2) - G(i + 1)) / G(N + 1)   with G(y) = (y^(1 - alpha) - 1) / (1 - alpha), log y for alpha = 1,
/// which is about (i + 1)^-alpha (workloads/batches/id_generator.hpp draws so). With alpha = 0 every row is equally
/// likely.
struct IdStatistics {
  double alpha = 0.0;
  bool scattered = false;  ///< popular rows lie anywhere in the table, instead of at its beginning
  bool ragged = false;     ///< lists of 0 to twice as many ids or segments, all lengths equally likely
  double fresh =
      0.0;            ///< of tables of any keys: share of the different ones that a batch can name which none has named
  double life = 0.0;  ///< of these: batches that a key lives until another follows it; 0: for ever
  std::shared_ptr<const MeasuredIds> measured = {};  ///< counted in data (measured_ids.hpp): no law then

  /// Return how many of the keys of a batch of so many ids none before has named, of a table of any keys of which so
  /// many are expected: those that are born in it, and with those that follow others.
  double fresh_keys(double ids, double keys) const { return fresh * std::min(ids, keys); }
  double new_keys(double ids, double keys) const {
    return fresh_keys(ids, keys) + (life > 0.0 ? std::min(ids, keys / life) : 0.0);
  }
};

}  // namespace shardmark::placement
