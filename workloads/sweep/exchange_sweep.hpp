// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/exchange/named_exchange.hpp"
#include "comm/placement/plan.hpp"
#include "results/statistics.hpp"
#include "workloads/batches/batch_source.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/fault.hpp"
#include "workloads/sweep/ping_pong.hpp"

namespace shardmark::workloads {

/// Holds the bytes from rank to rank, all at once.
struct TrafficCase {
  std::string skew;        ///< name of its shape, or "matrix"
  std::int64_t bytes = 0;  ///< that a rank sends in all, itself included; the mean over the ranks of a matrix
  placement::ByteMatrix traffic;
};

/// Holds the times of one exchange on one traffic.
struct SweepLine {
  std::string exchange;
  results::Summary seconds;     ///< of runs, each the maximum over the ranks; interval: that of the visits' medians
  std::vector<double> samples;  ///< [n], in the order of measurement
  std::vector<double> visits;   ///< median of each visit: runs in a row are not independent
  std::optional<double> least;  ///< least_seconds()
  std::int64_t wrong = 0;       ///< bytes that arrived other than they were sent, all ranks
};

/// Times exchanges alone. What they carry is a function of (seed, from, to, position) and checked bit for bit, over a
/// buffer in which every byte was wrong, before the first timed run and after the last.
class ExchangeSweep {
 public:
  /// Makes the exchanges and measures the ping-pong. `largest`: the most bytes of one rank of any traffic to come.
  /// Collective.
  ExchangeSweep(const comm::Communicator& comm, std::span<const comm::NamedExchange> exchanges, std::int64_t largest,
                std::uint64_t seed, Fault fault);

  const PingPong& links() const { return links_; }

  /// Runs the exchanges in turns, in a random order of every round, until the medians are known to 2.5 % or `seconds`
  /// per exchange are spent; each has 6 turns at least. Collective; the same on every rank.
  std::vector<SweepLine> run(const TrafficCase& traffic, double seconds);

 private:
  class Buffers;
  struct Entry {
    std::string name;
    std::unique_ptr<comm::Exchange> exchange;
  };

  std::string doing(const Entry& entry) const;
  std::int64_t check(const Entry& entry, Buffers& buffers) const;
  void time(Buffers& buffers, double seconds, std::vector<SweepLine>& lines);
  void visit(const Entry& entry, Buffers& buffers, SweepLine& line) const;

  const comm::Communicator& comm_;
  std::vector<Entry> exchanges_;
  PingPong links_;
  std::uint64_t seed_;
  Fault fault_;
  std::int64_t rounds_ = 0;
  std::string traffic_;  ///< what is measured now, for the watchdog
};

/// Returns the files that write_step_traffic() writes: FILE, and FILE.PHASE of each phase that sends.
std::vector<std::string> traffic_files(const std::string& file);

/// Runs step 0 on fresh tables and writes what every rank sent to every other, as traffic_file.hpp says: all phases
/// together to FILE, and each that sends (input_dist, output_dist, grad_dist, update) to FILE.PHASE. What stays on a
/// rank is 0. Collective; throws InputError when a file cannot be written.
void write_step_traffic(const comm::Communicator& comm, const RunOptions& options, const placement::Plan& plan,
                        const Case& config, BatchSource& batches, const std::string& file);

}  // namespace shardmark::workloads
