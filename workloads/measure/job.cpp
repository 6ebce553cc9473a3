// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/job.hpp"

#include <fmt/format.h>

namespace shardmark::workloads {

std::vector<std::size_t> Job::cases_of(std::size_t plan) const {
  std::vector<std::size_t> numbers;
  for (std::size_t c = 0; c < cases.size(); ++c)
    if (cases[c].plan == plan) numbers.push_back(c);
  return numbers;
}

std::string Job::name_of(std::size_t number) const {
  return fmt::format("{} {}", planned(number).plan.name, cases[number].config.name());
}

}  // namespace shardmark::workloads
