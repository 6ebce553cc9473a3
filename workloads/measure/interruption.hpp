// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/communicator.hpp"

namespace shardmark::workloads {

/// Records, while it lives, the first SIGUSR1, SIGTERM and SIGINT (what a job's limit, `scancel` and a person send),
/// which then do not end the process, so that what has been measured can be printed; a second one of the same ends it
/// as usual.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Returns the number of a signal that some rank has got, 0: none. Collective.
  int signal(const comm::Communicator& comm) const;
};

/// Returns the name of a signal, "SIGUSR1".
std::string name_of_signal(int signal);

}  // namespace shardmark::workloads
