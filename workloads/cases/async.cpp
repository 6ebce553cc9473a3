// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/async.hpp"

#include <fmt/format.h>

#include "reference/error.hpp"
#include "reference/number.hpp"

namespace shardmark::workloads {

std::string StagePool::name() const {
  return kind == PoolKind::dedicated ? fmt::format("{}:{}", name_of(kind), cores) : std::string(name_of(kind));
}

StagePool stage_pool_named(std::string_view text) {
  const auto colon = text.find(':');
  StagePool pool{named<PoolKind>(text.substr(0, colon))};
  if (pool.kind == PoolKind::dedicated) pool.cores = 1;
  if (colon == text.npos) return pool;
  const auto cores = number_in<std::int64_t>(text.substr(colon + 1));
  if (pool.kind != PoolKind::dedicated || !cores || *cores < 1)
    throw InputError(fmt::format("'{}': a number of at least 1 goes with dedicated alone, such as dedicated:2", text));
  pool.cores = *cores;
  return pool;
}

}  // namespace shardmark::workloads
