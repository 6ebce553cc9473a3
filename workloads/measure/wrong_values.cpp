// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/wrong_values.hpp"

#include <fmt/format.h>

#include "comm/collectives.hpp"

namespace shardmark::workloads {

std::string describe_difference(double actual, double expected, double bound) {
  return fmt::format(" is {:.9g}, expected {:.9g} +- {:.3g}", actual, expected, bound);
}

void WrongValues::add(std::int64_t number, const std::string& which) {
  count += number;
  if (number != 0 && first.empty()) first = which;
}

WrongValues of_all(const comm::Communicator& comm, const WrongValues& own) {
  WrongValues all{.count = comm::all_reduce(comm, own.count, comm::Reduce::sum), .closeness = own.closeness};
  if (all.count == 0) return all;
  const int has = own.first.empty() ? comm.size() : comm.rank(), root = comm::all_reduce(comm, has, comm::Reduce::min);
  if (root == comm.size()) return all;
  all.first = own.first;
  comm::broadcast(comm, all.first, root);
  return all;
}

}  // namespace shardmark::workloads
