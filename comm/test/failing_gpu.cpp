// SPDX-License-Identifier: Apache-2.0
// Carries routes by NCCL on emulated GPUs until the one of rank 1 fails in the way that the argument names.
#include <string>

#include "comm/collectives.hpp"
#include "comm/exchange/nccl.hpp"
#include "comm/session.hpp"
#include "comm/test/emulated_cuda.hpp"

int main(int, char** argv) {
  using namespace shardmark::comm;
  const std::string which = argv[1];
  return with_mpi([&which](const Communicator& world) {
    Nccl nccl(world);
    for (std::int64_t bytes = 1; bytes < 1'000'000; bytes *= 2) {
      const Route route = exchange_counts(world, std::vector<std::int64_t>(world.size(), bytes));
      const std::vector<std::byte> send(route.send_total());
      std::vector<std::byte> received(route.receive_total());
      if (world.rank() == 1 && bytes == 16)
        set_emulated_gpus(which == "gpu_lost" ? EmulatedGpus{.lost_after = 9} : EmulatedGpus{.memory = 40});
      nccl.run(route, send.data(), received.data(), 1);
    }
    return 0;
  });
}
