// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "comm/exchange/nccl_transports.hpp"

namespace shardmark::comm {
namespace {

/// Lines as NCCL 2.18 to 2.27 write them.
TEST(NcclChannels, AreReadFromItsLines) {
  const auto channels = nccl_channels(
      "n1:77:99 [0] NCCL INFO Channel 00/02 :    0   1\n"
      "n1:77:99 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
      "n1:77:99 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
      "n1:77:99 [0] NCCL INFO Channel 00/0 : 3[17000] -> 0[0] [receive] via NET/IB/0\n"
      "n1:77:99 [0] NCCL INFO Channel 00/1 : 0[0] -> 12[4] [send] via NET/IB/3/GDRDMA/Shared\n"
      "n1:77:99 [0] NCCL INFO Channel 01/1 : 0[0] -> 2[2] via SHM/direct/direct\n"
      "n1:77:99 [0] NCCL INFO Connected all rings\n");
  EXPECT_EQ(channels, (std::vector<NcclChannel>{
                          {0, 1, "P2P/CUMEM/read"}, {0, 2, "SHM/direct/direct"}, {0, 12, "NET/IB/GDRDMA/Shared"}}));
  EXPECT_TRUE(nccl_channels("").empty());
}

}  // namespace
}  // namespace shardmark::comm
