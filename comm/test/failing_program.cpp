// SPDX-License-Identifier: Apache-2.0
// Ends with an InputError in the way that its argument names, while the other ranks wait in a barrier.
#include <chrono>
#include <string>
#include <thread>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/session.hpp"

namespace {

using namespace shardmark;
using namespace shardmark::comm;

/// Fails with a communicator of its own alive, whose destruction is collective.
void fail_while_unwinding(const Communicator& world) {
  const Communicator own(world.get());
  if (world.rank() == 1) throw InputError("bad input");
  barrier(own);
}

int fail(const Communicator& world, const std::string& which) {
  const int rank = world.rank();
  const bool last = rank == world.size() - 1;
  if (which == "only" || (which == "first" && rank == 0)) throw InputError("bad input");
  if (which == "last" && last) throw InputError("bad input");
  if (which == "several" && rank > 0) throw InputError("bad input");
  if (which == "everyone") throw InputError("bad input");
  if (which == "agreed") {
    agree(world, [rank] {
      if (rank == 1) throw InputError("bad input");
    });
  }
  if (which == "unwinding") fail_while_unwinding(world);
  barrier(world);
  return 0;
}

}  // namespace

int main(int, char** argv) {
  return with_mpi([argv](const Communicator& world) { return fail(world, argv[1]); });
}
