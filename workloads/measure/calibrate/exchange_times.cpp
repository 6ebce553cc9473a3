// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/calibrate/exchange_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/exchange/blocks.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "comm/mpi_error.hpp"
#include "results/statistics.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/measure/schedule.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark::workloads {
namespace {

constexpr std::int64_t most_memory = std::int64_t{1} << 28;  // of each of the two buffers of a rank
constexpr int least_rounds_of_size = 5, most_rounds_of_size = 60, most_rounds_of_small = 400;
constexpr double share_of_small = 0.1;      // of the time for all sizes
constexpr double share_of_exchanges = 0.9;  // of the time for a size, beside all-reduces
constexpr std::int64_t least_largest = 1 << 17;
constexpr double most_budgets = 4.0;
constexpr std::int64_t least_sent = 1 << 16;  // bytes, to see what limits links
constexpr double seconds_of_rest = 0.05, most_seconds_of_sent = 0.1;

/// Returns a communicator of the ranks of this rank's color.
comm::Communicator split(const comm::Communicator& comm, int color) {
  MPI_Comm part = MPI_COMM_NULL;
  comm::check_mpi(MPI_Comm_split(comm.get(), color, comm.rank(), &part), "MPI_Comm_split");
  comm::Communicator ranks(part);
  MPI_Comm_free(&part);
  return ranks;
}

constexpr std::int64_t beyond_caches = std::int64_t{1} << 26;

std::int64_t size_of(const DeviceArray<std::byte>& array) { return static_cast<std::int64_t>(array.extent(0)); }

/// Is something that all ranks of a group do with messages of a size.
struct Action {
  std::string name;
  std::function<void(std::int64_t bytes)> run;
};

/// Measures the times of one group of ranks, each the same on all ranks of the group.
class GroupTimes {
 public:
  GroupTimes(const comm::Communicator& world, const comm::Communicator& group, bool takes_part)
      : world_(world), group_(group), takes_part_(takes_part && group.size() > 1) {}

  void add_exchanges() {
    for (const comm::NamedExchange& named : comm::all_exchanges())
      if (named.name() != "auto") add_exchange(named, group_.size() - 1);  // it is one of the others
  }

  /// Adds the exchange with so many of the next ranks, unless no group can use it.
  void add_exchange(const comm::NamedExchange& named, int partners) { add_exchange(named, partners, group_.size()); }

  /// Adds the exchange of all ranks in which the first alone sends.
  void add_lone_sender(const comm::NamedExchange& named) { add_exchange(named, group_.size() - 1, 1); }

  void add_exchange(const comm::NamedExchange& named, int partners, int senders) {
    const bool here = takes_part_ && named.unusable(group_).empty();
    if (!comm::all_reduce(world_, here ? 1 : 0, comm::Reduce::max)) return;
    std::shared_ptr<comm::Exchange> exchange = here ? named.make(group_) : nullptr;
    actions_.push_back({named.name(), [this, exchange, partners, senders](std::int64_t bytes) {
                          if (exchange)
                            exchange->run(route(bytes, partners, senders), send_.data(), receive_.data() + place_, 1);
                        }});
  }

  void add_all_reduce() {
    actions_.push_back({"all_reduce", [this](std::int64_t bytes) {
                          const auto values =
                              std::span(reinterpret_cast<float*>(send_.data()), static_cast<std::size_t>(bytes / 4));
                          if (takes_part_) comm::all_reduce(group_, values, comm::Reduce::sum);
                        }});
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Action& action : actions_) names.push_back(action.name);
    return names;
  }

  /// Lets links rest for so long before each run.
  void rest_before(double seconds) { rest_ = seconds; }

  /// Returns by movement the seconds of a run with messages of so many bytes.
  std::vector<double> seconds(std::int64_t bytes, std::int64_t buffer_bytes, double budget,
                              int most_rounds = most_rounds_of_size) {
    if (takes_part_ && size_of(send_) < buffer_bytes) {
      send_ = kernels::allocate<Execution, std::byte>("shardmark::sent", buffer_bytes);
      receive_ =
          kernels::allocate<Execution, std::byte>("shardmark::received", std::max(2 * buffer_bytes, beyond_caches));
      Kokkos::deep_copy(receive_, std::byte{});
    }
    std::vector<std::vector<double>> samples(actions_.size());
    const double begin = MPI_Wtime();
    for (int round = -1; round < most_rounds; ++round) {
      const double spent = comm::all_reduce(world_, MPI_Wtime() - begin, comm::Reduce::max);
      if (round >= least_rounds_of_size && spent > budget) break;
      for (const std::size_t m : order_of_turns(actions_.size(), 1, round + 1)) {
        prepare_buffers(buffer_bytes);
        const double once = time(actions_[m], bytes);
        if (round >= 0) samples[m].push_back(once);
      }
    }
    std::vector<double> medians;
    for (const auto& each : samples) medians.push_back(results::summarize(each).median);
    return medians;
  }

 private:
  /// Prepares the buffers as a step does: what is sent has just been computed, and the memory that receives has not
  /// been touched for long.
  void prepare_buffers(std::int64_t buffer_bytes) {
    if (!takes_part_) return;
    Kokkos::deep_copy(part(send_, 0, buffer_bytes), std::byte{});
    place_ = place_ + 2 * buffer_bytes <= size_of(receive_) ? place_ + buffer_bytes : 0;
  }

  double time(const Action& action, std::int64_t bytes) const {
    enter(action.name);
    if (rest_ > 0.0) std::this_thread::sleep_for(std::chrono::duration<double>(rest_));
    comm::barrier(world_);
    const double begin = MPI_Wtime();
    action.run(bytes);
    return comm::all_reduce(world_, MPI_Wtime() - begin, comm::Reduce::max);
  }

  /// Returns the route to and from so many of the next ranks, where the first ranks alone send, always the same, so
  /// that an exchange finds what it knows of it. What a rank sends itself is no message.
  const comm::Route& route(std::int64_t bytes, int partners, int senders) {
    auto found = routes_.find({bytes, partners, senders});
    if (found != routes_.end()) return found->second;
    std::vector<std::int64_t> sent(static_cast<std::size_t>(group_.size())), received(sent.size());
    for (int distance = 1; distance <= std::min(partners, group_.size() - 1); ++distance) {
      const int from = comm::rank_before(group_, distance);
      sent[comm::rank_after(group_, distance)] = group_.rank() < senders ? bytes : 0;
      received[from] = from < senders ? bytes : 0;
    }
    return routes_.try_emplace({bytes, partners, senders}, sent, received, bytes * group_.size()).first->second;
  }

  const comm::Communicator& world_;
  const comm::Communicator& group_;
  bool takes_part_;
  double rest_ = 0.0;  ///< seconds
  std::vector<Action> actions_;
  std::map<std::tuple<std::int64_t, int, int>, comm::Route> routes_;  ///< by bytes, partners and senders
  DeviceArray<std::byte> send_, receive_;                             ///< as those of steps, in huge pages
  std::int64_t place_ = 0;                                            ///< in receive_
};

std::vector<std::int64_t> sizes_between(const ExchangeSizes& sizes, int ranks) {
  const std::int64_t largest = std::min(std::max(sizes.largest, sizes.largest_sum), most_memory / ranks);
  std::vector<std::int64_t> all;
  for (std::int64_t bytes = sizes.smallest; bytes <= largest; bytes *= 2) all.push_back(bytes);
  return all;
}

/// Names exchanges that send their messages themselves, to as many at a time as their shapes say.
constexpr std::array by_rounds{"linear", "linear_throttled:2", "pairwise"};

/// Measures exchanges of small messages with 1, 2, 4, ... and all of the other ranks: the shape of an exchange with so
/// many is that of all exchanges among one rank more.
std::vector<SmallExchange> small_exchanges(const comm::Communicator& world, const comm::Communicator& group,
                                           bool takes_part, const Level& level, int largest, std::int64_t bytes,
                                           double budget) {
  GroupTimes exchanges(world, group, takes_part);
  std::vector<SmallExchange> small;
  for (int partners = 1; partners < largest; partners = std::max(partners + 1, std::min(2 * partners, largest - 1)))
    for (const char* name : by_rounds) {
      exchanges.add_exchange(comm::exchange_named(name), partners);
      small.push_back({placement::messages_of(name, level.layout(partners + 1))});
    }
  const auto seconds = exchanges.seconds(bytes, bytes * largest, budget, most_rounds_of_small);
  for (std::size_t e = 0; e < small.size(); ++e) small[e].seconds = seconds[e];
  return small;
}

/// Measures the movements of groups of ranks, `largest` of them at most, with messages of all sizes.
LevelTimes level_times(const comm::Communicator& world, const comm::Communicator& group, bool takes_part,
                       const Level& level, int largest, const ExchangeSizes& sizes, const Status& status,
                       NearCores& near) {
  LevelTimes times;
  status(fmt::format("calibrating: rounds of messages {} nodes", level.name));
  near.wait();
  times.latency = {
      &level, largest,
      small_exchanges(world, group, takes_part, level, largest, sizes.smallest, share_of_small * sizes.seconds)};
  const auto all = sizes_between(sizes, largest);
  const double budget = sizes.seconds / static_cast<double>(all.size());
  // On slow links larger messages are left out: they take what the last slope says.
  const auto each_size = [&](const char* what, double share, const auto& measure) {
    for (const std::int64_t bytes : all) {
      status(fmt::format("calibrating: {} of {} bytes {} nodes", what, bytes, level.name));
      near.wait();
      const double begin = MPI_Wtime();
      measure(bytes);
      if (bytes > least_largest &&
          comm::all_reduce(world, MPI_Wtime() - begin, comm::Reduce::max) > most_budgets * share * budget)
        break;
    }
  };
  GroupTimes exchanges(world, group, takes_part), sums(world, group, takes_part);
  exchanges.add_exchanges();
  const auto names = exchanges.names();
  exchanges.add_lone_sender(comm::exchange_named(placement::library_exchange));
  each_size("messages", share_of_exchanges, [&](std::int64_t bytes) {
    if (bytes > sizes.largest) return;
    const auto seconds = exchanges.seconds(bytes, bytes * largest, share_of_exchanges * budget);
    const auto size = static_cast<double>(bytes);
    for (std::size_t e = 0; e < names.size(); ++e) times.exchanges[names[e]].push_back({size, seconds[e]});
    times.lone_sender.push_back({size, seconds.back()});
  });
  sums.add_all_reduce();
  each_size("sums", 1.0, [&](std::int64_t bytes) {
    const auto seconds = sums.seconds(bytes, bytes * largest, (1.0 - share_of_exchanges) * budget);
    times.sums.push_back({static_cast<double>(bytes), seconds.front()});
  });
  return times;
}

/// Returns what messages from one rank of each node to the next take after a rest, by their bytes.
Times rested_times(const comm::Communicator& world, const comm::Communicator& leaders, bool takes_part,
                   const ExchangeSizes& sizes, const Status& status) {
  Times sent;
  if (world.nodes() == 1 || sizes.largest < 4 * least_sent) return sent;  // of fewer than three sizes nothing is told
  status("calibrating: links between nodes that have rested");
  GroupTimes messages(world, leaders, takes_part);
  messages.add_exchange(comm::exchange_named("linear"), 1);
  messages.rest_before(seconds_of_rest);
  for (std::int64_t bytes = least_sent; bytes <= std::min(sizes.largest, most_memory / world.nodes()); bytes *= 2) {
    const double seconds = messages.seconds(bytes, bytes * world.nodes(), 0.0).front();
    sent.push_back({static_cast<double>(bytes), seconds});
    if (seconds > most_seconds_of_sent) break;
  }
  return sent;
}

/// Returns the bytes per second that leave a node when all its ranks send at once, each to those of its number; 0:
/// there are no other nodes.
double node_rate(const comm::Communicator& world, std::int64_t largest) {
  const int ranks = comm::all_reduce(world, world.node_size(), comm::Reduce::max);
  if (world.nodes() == 1 || ranks == 1) return 0.0;
  const comm::Communicator rail = split(world, world.node_rank());
  GroupTimes exchanges(world, rail, true);
  exchanges.add_exchange(comm::exchange_named("linear"), rail.size() - 1);
  const std::int64_t bytes = std::min(largest, most_memory / world.nodes());
  return static_cast<double>(bytes * ranks * (world.nodes() - 1)) /
         exchanges.seconds(bytes, bytes * world.nodes(), 0.0).front();
}

}  // namespace

ExchangeTimes measure_exchanges(const comm::Communicator& comm, const ExchangeSizes& sizes, const Status& status,
                                NearCores& near) {
  ExchangeTimes times;
  const auto measure = [&](const comm::Communicator& group, bool takes_part, const Level& level) {
    const int largest = comm::all_reduce(comm, takes_part ? group.size() : 1, comm::Reduce::max);
    if (largest > 1) times.levels.push_back(level_times(comm, group, takes_part, level, largest, sizes, status, near));
  };
  const comm::Communicator node = split(comm, comm.node_of(comm.rank()));
  measure(node, true, inside_nodes);
  const comm::Communicator leaders = split(comm, comm.node_rank() == 0 ? 0 : 1);
  measure(leaders, comm.node_rank() == 0, between_nodes);
  times.node_bytes_per_second = node_rate(comm, sizes.largest);
  times.rested = rested_times(comm, leaders, comm.node_rank() == 0, sizes, status);
  return times;
}

}  // namespace shardmark::workloads
