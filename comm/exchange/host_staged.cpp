// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/host_staged.hpp"

namespace shardmark::comm {

void HostStaged::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  select_gpu(comm_);
  const std::byte* from = send;
  if (on_gpu(send)) {
    std::byte* room = to_send_.at_least(route.send_total() * element_bytes);
    copy_bytes(room, send, route.send_total() * element_bytes);
    from = room;
  }
  if (!on_gpu(receive)) return of_hosts_->run(route, from, receive, element_bytes);

  std::byte* to = received_.at_least(route.receive_total() * element_bytes);
  of_hosts_->run(route, from, to, element_bytes);
  copy_bytes(receive, to, route.receive_total() * element_bytes);
}

}  // namespace shardmark::comm
