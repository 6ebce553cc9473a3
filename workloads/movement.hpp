// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace shardmark {

/// How a case moves its data, by the names of the table `transfers` and of named_exchange.hpp.
struct Movement {
  std::string transfer = "dense_partials";
  std::string exchange = "mpi_alltoallv";

  /// "dense_partials mpi_alltoallv"; what is not the default follows.
  std::string name() const { return transfer + ' ' + exchange; }
};

}  // namespace shardmark
