// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/machine_rates.hpp"

#include <algorithm>
#include <limits>
#include <random>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "kernels/ceilings.hpp"
#include "kernels/huge_pages.hpp"
#include "reference/sort_distinct.hpp"
#include "workloads/batches/execution.hpp"

namespace shardmark::workloads {
namespace {

/// Measures on this rank while the others do the same; every round begins on all of them together.
class Ceilings {
 public:
  Ceilings(const comm::Communicator& comm, const RateSizes& sizes)
      : comm_(comm),
        sizes_(sizes),
        table_(kernels::allocate<Execution, std::uint32_t>("shardmark::table", sizes.table_bytes / 4)) {
    Kokkos::deep_copy(exec_, table_, 0U);
  }

  double huge_page_share() const { return kernels::huge_page_share(table_); }

  std::vector<Rate> rates() {
    std::vector<Rate> rates = streams();
    for (const std::int64_t dim : {16, 64, 128}) rates.push_back(gather(dim));
    for (const std::int64_t dim : {16, 64, 128}) rates.push_back(read_modify_write(dim));
    return rates;
  }

 private:
  using Keys = std::vector<DeviceArray<std::int64_t>>;

  template <class Body>
  double best_seconds(const Body& body) const {
    double best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < sizes_.rounds; ++round) {
      comm::barrier(comm_);
      best = std::min(best, kernels::seconds(exec_, body));
    }
    return best;
  }

  std::vector<Rate> streams() const {
    const DeviceArray<float> a("shardmark::a", sizes_.array_bytes / 4), b("shardmark::b", a.size()),
        c("shardmark::c", a.size());
    const auto elements = static_cast<double>(a.size());
    const double triad = best_seconds([&] { kernels::triad<Execution>(exec_, a, b, c, 3.0F); });
    const double copy = best_seconds([&] { Kokkos::deep_copy(exec_, a, b); });
    return {{"triad", 0, kernels::triad_bytes_per_element * elements / triad, {}},
            {"copy", 0, 8 * elements / copy, {}}};
  }

  /// Returns a few lists, so that no cache remembers one: distinct rows of the table in random order.
  Keys random_keys(std::int64_t dim) const {
    const std::int64_t rows = std::ssize(table_) / dim;
    std::mt19937_64 random(comm_.rank());
    std::uniform_int_distribution<std::int64_t> draw(0, rows - 1);
    Keys lists;
    for (int list = 0; list < 8; ++list) {
      std::vector<std::int64_t> keys(sizes_.rows);
      for (auto& key : keys) key = draw(random);
      sort_distinct(keys);
      std::shuffle(keys.begin(), keys.end(), random);
      lists.push_back(kernels::array_of(exec_, keys, "shardmark::keys"));
    }
    return lists;
  }

  /// Returns the best rate of run(keys, setting), which moves `bytes_per_row`.
  template <class Run>
  Rate best_rate(std::string name, std::int64_t dim, std::int64_t bytes_per_row, const Run& run) const {
    const Keys lists = random_keys(dim);
    std::size_t turn = 0;
    const auto setting = kernels::fastest_setting(
        exec_, 4, [&](const kernels::RowSetting& each) { run(lists[turn++ % lists.size()], each); });
    double best = 0;
    for (int round = 0; round < sizes_.rounds; ++round) {
      const auto& keys = lists[turn++ % lists.size()];
      comm::barrier(comm_);
      const double time = kernels::seconds(exec_, [&] { run(keys, setting); });
      best = std::max(best, static_cast<double>(std::ssize(keys) * bytes_per_row) / time);
    }
    return {std::move(name), dim, best, setting};
  }

  Rate gather(std::int64_t dim) const {
    const DeviceArray<std::uint32_t> sink("shardmark::sink",
                                          (sizes_.rows / kernels::smallest_grain + 1) * kernels::sum_words);
    return best_rate("gather", dim, 4 * dim, [&](const auto& keys, const kernels::RowSetting& setting) {
      kernels::gather_rows<Execution>(exec_, {table_.data(), dim}, keys, setting, sink);
    });
  }

  Rate read_modify_write(std::int64_t dim) const {
    return best_rate("read_modify_write", dim, 8 * dim, [&](const auto& keys, const kernels::RowSetting& setting) {
      kernels::modify_rows<Execution>(exec_, {table_.data(), dim}, {}, keys, setting, 1U);
    });
  }

  const comm::Communicator& comm_;
  const RateSizes& sizes_;
  Execution exec_;
  DeviceArray<std::uint32_t> table_;
};

}  // namespace

MachineRates machine_rates(const comm::Communicator& comm, const RateSizes& sizes) {
  Ceilings ceilings(comm, sizes);
  return comm::agree(comm, [&] { return MachineRates{ceilings.rates(), ceilings.huge_page_share()}; });
}

}  // namespace shardmark::workloads
