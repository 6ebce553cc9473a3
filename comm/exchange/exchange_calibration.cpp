// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/exchange_calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>

#include "comm/collectives.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "comm/mpi_error.hpp"
#include "reference/error.hpp"

namespace shardmark::comm {

using placement::ExchangeRatios;

namespace {

constexpr std::int64_t smallest = 64, factor = 8, largest = std::int64_t{1} << 20;  // bytes from rank to rank
constexpr std::int64_t most_memory = std::int64_t{64} << 20;                        // of each buffer
constexpr int least_repeats = 5, most_repeats = 41;
constexpr double shortest_timing = 50e-6;  // seconds
constexpr double hopeless = 2.0;           // times MPI_Alltoallv's time: not measured further

/// Returns counts of elements of one byte: to each rank `bytes` in the mean; skewed: to rank 0 as much as to all others
/// together.
std::vector<std::int64_t> counts_of(const Communicator& comm, std::int64_t bytes, bool skewed) {
  const std::int64_t ranks = comm.size();
  std::vector<std::int64_t> counts(ranks, bytes);
  if (!skewed || ranks == 1) return counts;
  counts.assign(counts.size(), bytes * ranks / 2 / (ranks - 1));
  counts.front() = bytes * ranks / 2;
  return counts;
}

struct Candidate {
  std::unique_ptr<Exchange> exchange;
  std::vector<double> ratios;
  bool dropped = false;
};

/// Times all exchanges of these ranks on one traffic.
class CellTiming {
 public:
  CellTiming(const Communicator& comm, std::vector<Candidate>& candidates, std::int64_t bytes, bool skewed)
      : comm_(comm),
        candidates_(candidates),
        route_(exchange_counts(comm, counts_of(comm, bytes, skewed))),
        send_(route_.send_total()),
        receive_(route_.receive_total()),
        order_(candidates.size()) {
    for (std::size_t c = 0; c < order_.size(); ++c) order_[c] = c;
    for (Candidate& candidate : candidates_) {
      candidate.ratios.clear();
      candidate.dropped = false;
      run(candidate);
    }
    const double once = all_reduce(comm, run(candidates_.front()), Reduce::max);
    runs_ = static_cast<int>(std::clamp(shortest_timing / once, 1.0, 8.0));
  }

  /// Times each candidate once, in a random order. Returns the seconds that this took, the same on all ranks.
  /// MPI_Alltoallv is the first candidate.
  double repeat() {
    const double begin = MPI_Wtime();
    std::ranges::shuffle(order_, random_);
    std::vector<double> seconds(candidates_.size(), 0.0);
    for (const std::size_t c : order_) {
      if (candidates_[c].dropped) continue;
      barrier(comm_);
      for (int i = 0; i < runs_; ++i) seconds[c] += run(candidates_[c]);
    }
    all_reduce(comm_, std::span(seconds), Reduce::max);
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      if (candidates_[c].dropped) continue;
      candidates_[c].ratios.push_back(seconds[c] / seconds.front());
      if (candidates_[c].ratios.size() == 3) candidates_[c].dropped = ratio_of(candidates_[c]) > hopeless;
    }
    return all_reduce(comm_, MPI_Wtime() - begin, Reduce::max);
  }

  std::vector<double> ratios() const {
    std::vector<double> all;
    for (const Candidate& candidate : candidates_) all.push_back(ratio_of(candidate));
    return all;
  }

 private:
  double run(Candidate& candidate) {
    const double begin = MPI_Wtime();
    candidate.exchange->run(route_, send_.data(), receive_.data(), 1);
    return MPI_Wtime() - begin;
  }

  /// Returns the upper quartile of the ratios.
  static double ratio_of(const Candidate& candidate) {
    auto ratios = candidate.ratios;
    std::ranges::sort(ratios);
    return ratios[(3 * ratios.size() - 1) / 4];
  }

  const Communicator& comm_;
  std::vector<Candidate>& candidates_;
  Route route_;
  std::vector<std::byte> send_, receive_;
  std::vector<std::size_t> order_;
  std::mt19937_64 random_{1};
  int runs_ = 1;
};

/// MPI's key under which a communicator keeps its calibration.
int key() {
  static const int made = [] {
    int keyval = MPI_KEYVAL_INVALID;
    const auto drop = [](MPI_Comm, int, void* value, void*) {
      delete static_cast<ExchangeRatios*>(value);
      return MPI_SUCCESS;
    };
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop, &keyval, nullptr), "MPI_Comm_create_keyval");
    return keyval;
  }();
  return made;
}

void keep(const Communicator& comm, std::unique_ptr<ExchangeRatios> calibration) {
  check_mpi(MPI_Comm_set_attr(comm.get(), key(), calibration.get()), "MPI_Comm_set_attr");
  calibration.release();
}

}  // namespace

ExchangeRatios calibrate_exchanges(const Communicator& comm, double seconds) {
  ExchangeRatios calibration{.ranks = comm.size(), .nodes = comm.nodes(), .exchanges = {}, .cells = {}};
  std::vector<Candidate> candidates;
  for (const NamedExchange& named : all_exchanges()) {
    if (named.choice->in_auto == InAuto::never || !named.unusable(comm).empty()) continue;
    calibration.exchanges.push_back(named.name());
    candidates.push_back({named.make(comm), {}, false});
  }
  if (comm.size() == 1) return calibration;
  if (comm.rank() == 0) fmt::print(stderr, "shardmark: comparing {} exchanges for auto\n", candidates.size());
  std::vector<ExchangeRatios::Cell> cells;
  for (std::int64_t bytes = smallest; bytes <= std::min(largest, most_memory / comm.size()); bytes *= factor)
    for (const bool skewed : {false, true}) cells.push_back({bytes, skewed, {}});
  double left = seconds;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    CellTiming timing(comm, candidates, cells[c].bytes, cells[c].skewed);
    double last = timing.repeat();
    int repeats = 1;
    double spent = last;
    const double share = left / static_cast<double>(cells.size() - c);
    while (repeats < most_repeats && (repeats < least_repeats || spent + last < share)) {
      last = timing.repeat();
      spent += last;
      ++repeats;
    }
    left -= spent;
    cells[c].ratios = timing.ratios();
    calibration.cells.push_back(cells[c]);
    // Both shapes of a size or none; the next size takes up to `factor` times as long.
    if (cells[c].skewed && left < 2.0 * least_repeats * last * static_cast<double>(factor) / 2.0) break;
  }
  return calibration;
}

const ExchangeRatios& calibration_of(const Communicator& comm) {
  void* found = nullptr;
  int is_set = 0;
  check_mpi(MPI_Comm_get_attr(comm.get(), key(), &found, &is_set), "MPI_Comm_get_attr");
  if (!is_set) {
    keep(comm, std::make_unique<ExchangeRatios>(calibrate_exchanges(comm, 0.5)));
    return calibration_of(comm);
  }
  return *static_cast<const ExchangeRatios*>(found);
}

void set_calibration(const Communicator& comm, ExchangeRatios calibration) {
  if (calibration.ranks != comm.size() || calibration.nodes != comm.nodes())
    throw InputError(fmt::format("calibration: made with {} ranks on {} nodes, not {} on {}", calibration.ranks,
                                 calibration.nodes, comm.size(), comm.nodes()));
  for (const std::string& name : calibration.exchanges) exchange_named(name);
  keep(comm, std::make_unique<ExchangeRatios>(std::move(calibration)));
}

}  // namespace shardmark::comm
