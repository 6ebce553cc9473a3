// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/store_reports.hpp"

#include "comm/collectives.hpp"

namespace shardmark::workloads {

std::vector<StorageReport> empty_reports(const std::vector<Table>& tables) {
  std::vector<StorageReport> reports;
  for (const StorageMaker& maker : storage_makers) {
    StorageReport report{&maker, {}, std::vector<std::int64_t>(maker.numbers.size())};
    std::ranges::copy_if(tables, std::back_inserter(report.tables),
                         [&](const Table& table) { return table.storage == maker.storage; });
    if (!report.numbers.empty() && !report.tables.empty()) reports.push_back(std::move(report));
  }
  return reports;
}

void report_step(const comm::Communicator& comm, const Flight& flight, std::vector<StorageReport>& reports) {
  for (StorageReport& report : reports) {
    std::vector<std::int64_t> numbers(report.numbers.size());
    flight.report(report.maker->storage, numbers);
    comm::all_reduce(comm, std::span<std::int64_t>(numbers), comm::Reduce::sum);
    for (std::size_t n = 0; n < numbers.size(); ++n)
      if (report.maker->numbers[n].of == ReportedNumber::Of::step) report.numbers[n] = numbers[n];
  }
}

std::vector<std::vector<std::int64_t>> ReportWatch::counted() const {
  std::vector<std::vector<std::int64_t>> counted;
  for (const StorageReport& report : reports_) {
    std::vector<std::int64_t>& numbers = counted.emplace_back(report.numbers.size());
    tables_.report(report.maker->storage, numbers);
    comm::all_reduce(comm_, std::span<std::int64_t>(numbers), comm::Reduce::sum);
  }
  return counted;
}

void ReportWatch::end() {
  const auto now = counted();
  for (std::size_t r = 0; r < reports_.size(); ++r)
    for (std::size_t n = 0; n < now[r].size(); ++n) {
      const ReportedNumber::Of of = reports_[r].maker->numbers[n].of;
      if (of == ReportedNumber::Of::timed_steps) reports_[r].numbers[n] += now[r][n] - before_[r][n];
      if (of == ReportedNumber::Of::end) reports_[r].numbers[n] = now[r][n];
    }
}

}  // namespace shardmark::workloads
