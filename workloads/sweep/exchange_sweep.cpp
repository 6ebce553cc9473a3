// SPDX-License-Identifier: Apache-2.0
#include "workloads/sweep/exchange_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/placement/traffic/traffic_file.hpp"
#include "reference/counter_random.hpp"
#include "reference/output_file.hpp"
#include "reference/size.hpp"
#include "workloads/measure/prepare.hpp"
#include "workloads/measure/schedule.hpp"
#include "workloads/step/faults.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark::workloads {
namespace {

constexpr double half_width_of_sweeps = 0.025;
constexpr double seconds_per_turn = 0.02;  // how long an exchange is timed before the next one has its turn
constexpr std::int64_t rounds_of_sweeps = results::samples_for_interval;

comm::Route route_of(const placement::ByteMatrix& traffic, int rank) {
  std::vector<std::int64_t> sent, received;
  for (int peer = 0; peer < traffic.ranks(); ++peer) {
    sent.push_back(traffic(rank, peer));
    received.push_back(traffic(peer, rank));
  }
  return comm::Route(std::move(sent), std::move(received), traffic.busiest());
}

/// Calls use(bytes of the message, what they are to be) for every 8 bytes, and for the fewer at the end.
template <class Bytes, class Use>
void for_each_word(Bytes message, std::uint64_t seed, int from, int to, const Use& use) {
  for (std::size_t at = 0; at < message.size(); at += 8)
    use(message.subspan(at, std::min<std::size_t>(8, message.size() - at)), random_bits(seed, from, to, at / 8));
}

std::span<std::byte> part_of(std::vector<std::byte>& buffer, const std::vector<std::int64_t>& offsets, int peer) {
  const auto p = static_cast<std::size_t>(peer);
  return std::span(buffer).subspan(offsets[p], static_cast<std::size_t>(offsets[p + 1] - offsets[p]));
}

}  // namespace

/// Holds what this rank sends and receives.
class ExchangeSweep::Buffers {
 public:
  Buffers(const placement::ByteMatrix& traffic, int rank, std::uint64_t seed)
      : route(route_of(traffic, rank)),
        send(static_cast<std::size_t>(route.send_total())),
        receive(static_cast<std::size_t>(route.receive_total())),
        rank_(rank),
        seed_(seed) {
    for (int to = 0; to < route.size(); ++to)
      for_each_word(
          part_of(send, route.send_offsets(), to), seed, rank, to,
          [](std::span<std::byte> bytes, std::uint64_t word) { std::memcpy(bytes.data(), &word, bytes.size()); });
  }

  /// Makes every byte of the receive buffer wrong.
  void spoil() {
    for_each_received([](std::span<std::byte> bytes, std::uint64_t word) {
      word = ~word;
      std::memcpy(bytes.data(), &word, bytes.size());
    });
  }

  std::int64_t count_wrong() {
    std::int64_t wrong = 0;
    for_each_received([&](std::span<std::byte> bytes, std::uint64_t word) {
      if (std::memcmp(bytes.data(), &word, bytes.size()) == 0) return;
      for (std::size_t i = 0; i < bytes.size(); ++i) wrong += bytes[i] != std::as_bytes(std::span(&word, 1))[i];
    });
    return wrong;
  }

  comm::Route route;
  std::vector<std::byte> send, receive;

 private:
  template <class Use>
  void for_each_received(const Use& use) {
    for (int from = 0; from < route.size(); ++from)
      for_each_word(part_of(receive, route.receive_offsets(), from), seed_, from, rank_, use);
  }

  int rank_;
  std::uint64_t seed_;
};

ExchangeSweep::ExchangeSweep(const comm::Communicator& comm, std::span<const comm::NamedExchange> exchanges,
                             std::int64_t largest, std::uint64_t seed, Fault fault)
    : comm_(comm), links_(measure_ping_pong(comm, largest)), seed_(seed), fault_(fault) {
  for (const comm::NamedExchange& each : exchanges) exchanges_.push_back({each.name(), each.make(comm)});
}

std::vector<SweepLine> ExchangeSweep::run(const TrafficCase& traffic, double seconds) {
  traffic_ = fmt::format("{} {}", traffic.skew, size_text(traffic.bytes));
  auto buffers = comm::agree(comm_, [&] { return Buffers(traffic.traffic, comm_.rank(), seed_); });
  std::vector<SweepLine> lines;
  for (const Entry& each : exchanges_)
    lines.push_back({.exchange = each.name,
                     .seconds = {},
                     .samples = {},
                     .visits = {},
                     .least = least_seconds(links_, traffic.traffic, comm_),
                     .wrong = check(each, buffers)});
  time(buffers, seconds, lines);
  for (std::size_t e = 0; e < lines.size(); ++e) {
    lines[e].wrong = std::max(lines[e].wrong, check(exchanges_[e], buffers));
    const results::Summary visits = results::summarize(lines[e].visits);
    lines[e].seconds = results::summarize(lines[e].samples);
    lines[e].seconds.low = visits.low;
    lines[e].seconds.high = visits.high;
  }
  return lines;
}

std::int64_t ExchangeSweep::check(const Entry& entry, Buffers& buffers) const {
  buffers.spoil();
  enter(doing(entry));
  entry.exchange->run(buffers.route, buffers.send.data(), buffers.receive.data(), 1);
  if (fault_ == Fault::exchange && !buffers.receive.empty()) buffers.receive.back() ^= std::byte{1};
  return comm::all_reduce(comm_, buffers.count_wrong(), comm::Reduce::sum);
}

void ExchangeSweep::time(Buffers& buffers, double seconds, std::vector<SweepLine>& lines) {
  const double begin = MPI_Wtime();
  const double budget = seconds * static_cast<double>(lines.size());
  for (std::int64_t round = 1;; ++round) {
    for (const std::size_t e : order_of_turns(lines.size(), seed_, ++rounds_)) visit(exchanges_[e], buffers, lines[e]);
    if (round < rounds_of_sweeps) continue;
    if (comm::all_reduce(comm_, MPI_Wtime() - begin, comm::Reduce::max) >= budget) return;
    if (std::ranges::all_of(lines, [](const SweepLine& line) {
          return results::summarize(line.visits).relative_half_width() <= half_width_of_sweeps;
        }))
      return;
  }
}

std::string ExchangeSweep::doing(const Entry& entry) const {
  return fmt::format("exchange {}, {}", entry.name, traffic_);
}

/// Takes two untimed runs, then as many timed ones as a visit lasts.
void ExchangeSweep::visit(const Entry& entry, Buffers& buffers, SweepLine& line) const {
  const std::string phase = doing(entry);
  const auto once = [&] {
    enter(phase);
    comm::barrier(comm_);
    const double begin = MPI_Wtime();
    entry.exchange->run(buffers.route, buffers.send.data(), buffers.receive.data(), 1);
    return MPI_Wtime() - begin;
  };
  enter(phase);
  interrupt(comm_, fault_);
  once();
  const double warm = comm::all_reduce(comm_, once(), comm::Reduce::max);
  std::vector<double> times(static_cast<std::size_t>(std::clamp(seconds_per_turn / std::max(warm, 1e-9), 2.0, 100.0)));
  for (double& seconds : times) seconds = once();
  comm::all_reduce(comm_, std::span<double>(times), comm::Reduce::max);
  line.samples.insert(line.samples.end(), times.begin(), times.end());
  line.visits.push_back(results::summarize(times).median);
}

namespace {

placement::ByteMatrix gathered(const comm::Communicator& comm, std::span<const std::int64_t> sent) {
  const auto rows = comm::all_gather(comm, sent);
  placement::ByteMatrix matrix(comm.size());
  for (int from = 0; from < comm.size(); ++from)
    for (int to = 0; to < comm.size(); ++to) matrix.set(from, to, rows.of(from)[to]);
  return matrix;
}

constexpr std::array sending_phases{Phase::input_dist, Phase::output_dist, Phase::grad_dist, Phase::update};

std::string traffic_file_of(const std::string& file, Phase phase) {
  return file + '.' + std::string(phase_names[index_of(phase)]);
}

}  // namespace

std::vector<std::string> traffic_files(const std::string& file) {
  std::vector<std::string> files{file};
  for (const Phase phase : sending_phases) files.push_back(traffic_file_of(file, phase));
  return files;
}

void write_step_traffic(const comm::Communicator& comm, const RunOptions& options, const placement::Plan& plan,
                        const Case& config, BatchSource& batches, const std::string& file) {
  FirstStep first(comm, options, plan, config, batches);
  first.ready.step(first.input);

  placement::ByteMatrix all(comm.size());
  for (const Phase phase : sending_phases) {
    const placement::ByteMatrix matrix = gathered(comm, first.ready.flight.sent().to_ranks(index_of(phase)).payload);
    all += matrix;
    comm::agree(comm, [&] {
      if (comm.rank() == 0) write_file(traffic_file_of(file, phase), placement::traffic_text(matrix));
    });
  }
  comm::agree(comm, [&] {
    if (comm.rank() == 0) write_file(file, placement::traffic_text(all));
  });
}

}  // namespace shardmark::workloads
