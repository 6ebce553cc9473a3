// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/store.hpp"

#include <algorithm>
#include <iterator>
#include <type_traits>

namespace shardmark::workloads {
namespace {

/// Calls visit(number of the first, local row of the first, count) for each run of local rows without a gap.
template <class Visit>
void for_each_run(const std::vector<std::int64_t>& local_rows, const Visit& visit) {
  const std::int64_t n = std::ssize(local_rows);
  for (std::int64_t begin = 0, end = 0; begin < n; begin = end) {
    for (end = begin + 1; end < n && local_rows[end] == local_rows[end - 1] + 1;) ++end;
    visit(begin, local_rows[begin], end - begin);
  }
}

}  // namespace

StoredRows Store::read_listed(std::int64_t shard, std::int64_t part,
                              const std::vector<std::int64_t>& local_rows) const {
  StoredRows listed;
  for_each_run(local_rows, [&](std::int64_t /*at*/, std::int64_t first, std::int64_t count) {
    const StoredRows run = read_range(shard, part, first, count);
    std::ranges::copy(run.values, std::back_inserter(listed.values));
    std::ranges::copy(run.state, std::back_inserter(listed.state));
  });
  return listed;
}

void Store::write_listed(std::int64_t shard, std::int64_t part, const std::vector<std::int64_t>& local_rows,
                         const StoredRows& rows) {
  const auto of_run = [&](const auto& elements, std::int64_t at, std::int64_t count) {
    const std::int64_t of_row = std::ssize(elements) / std::ssize(local_rows);
    const auto begin = elements.begin() + at * of_row;
    return std::remove_cvref_t<decltype(elements)>(begin, begin + count * of_row);
  };
  for_each_run(local_rows, [&](std::int64_t at, std::int64_t first, std::int64_t count) {
    write_range(shard, part, first, {of_run(rows.values, at, count), of_run(rows.state, at, count)});
  });
}

}  // namespace shardmark::workloads
