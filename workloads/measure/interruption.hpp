// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/communicator.hpp"

namespace shardmark::workloads {

/// While it lives, the first SIGUSR1, SIGTERM and SIGINT (what a job's limit, `scancel` and a person send) do not end
/// the process but are noted, so that what has been measured can be printed; a second one of the same ends it as ever.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// The number of a signal that some rank has got, 0: none. Collective.
  int signal(const comm::Communicator& comm) const;
};

/// "SIGUSR1".
std::string name_of_signal(int signal);

}  // namespace shardmark::workloads
