// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/net_world.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <thread>

#include "comm/exchange/exchange_calibration.hpp"
#include "comm/exchange/exchanges.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "workloads/transfer/unique_rows/node_dedup.hpp"

namespace shardmark::workloads {
namespace {

constexpr int case_tag = 30;

volatile std::sig_atomic_t seconds_left = 0;

/// Counts a second more in which this process could run. However long the machine stood still, that is one.
void count_second(int) {
  seconds_left = seconds_left - 1;
  if (seconds_left > 0) {
    alarm(1);
    return;
  }
  std::signal(SIGALRM, SIG_DFL);
  std::raise(SIGALRM);
}

/// Returns the nodes that ranks pretend: neighbours in pairs, dealt out to two, each alone, and one with all but the
/// last.
std::vector<std::vector<int>> pretended_nodes(int ranks) {
  std::vector<std::vector<int>> all{{}};
  if (ranks == 1) return all;
  std::vector<int> pairs, dealt, alone, uneven;
  for (int r = 0; r < ranks; ++r) {
    pairs.push_back(r / 2 * 2);
    dealt.push_back(r % 2);
    alone.push_back(r);
    uneven.push_back(r < ranks - 1 ? 0 : r);
  }
  for (auto& leaders : {pairs, dealt, alone, uneven})
    if (std::ranges::find(all, leaders) == all.end()) all.push_back(leaders);
  return all;
}

/// Returns ratios by which `auto` chooses each exchange that it may for some size and shape.
placement::ExchangeRatios taking_turns(const comm::Communicator& comm) {
  placement::ExchangeRatios calibration{.ranks = comm.size(), .nodes = comm.nodes(), .exchanges = {}, .cells = {}};
  for (const comm::NamedExchange& each : comm::all_exchanges())
    if (each.choice->in_auto != comm::InAuto::never && each.unusable(comm).empty())
      calibration.exchanges.push_back(each.name());
  std::size_t next = 0;  // two neighbouring sizes must like an exchange before `auto` takes it between them
  for (std::int64_t bytes = 16; bytes <= 1 << 20; bytes *= 2, ++next)
    for (const std::size_t skewed : {0, 1}) {
      std::vector<double> ratios(calibration.exchanges.size(), 1.0);
      for (const std::size_t liked : {next, next + 1}) ratios[(liked + 3 * skewed) % ratios.size()] = 0.5;
      calibration.cells.push_back({bytes, skewed == 1, std::move(ratios)});
    }
  return calibration;
}

MPI_Comm first_ranks(const comm::Communicator& world, int ranks) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(world.get(), world.rank() < ranks ? 0 : MPI_UNDEFINED, world.rank(), &part);
  return part;
}

}  // namespace

NetWorld::NetWorld(const comm::Communicator& world) : world_(world) {
  const comm::Affinity affinity = comm::observed_affinity();
  for (int ranks = 1; ranks <= world.size(); ++ranks) {
    MPI_Comm part = first_ranks(world, ranks);
    for (const auto& leaders : pretended_nodes(ranks)) {
      GroupFacts& facts = facts_[{ranks, leaders}];
      if (part == MPI_COMM_NULL) continue;
      auto& comm = comms_[{ranks, leaders}];
      comm = std::make_unique<comm::Communicator>(part, std::numeric_limits<int>::max(), leaders);
      for (const comm::ExchangeChoice& each : comm::exchanges)
        if (const std::string why = each.unusable(*comm); !why.empty())
          facts.unusable[fmt::format("exchange {}", each.name)] = why;
      if (const std::string why = why_no_node_dedup(*comm); !why.empty()) facts.unusable["dedup node"] = why;
      comm::set_calibration(*comm, taking_turns(*comm));
      facts.pools = pool_facts(*comm, affinity);
    }
    if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
  }
}

NetOutcome NetWorld::take_part(const NetCase& one, std::chrono::seconds limit, const std::string& export_file) {
  const RankGroup group{one.ranks, one.leaders};
  seconds_left = static_cast<std::sig_atomic_t>(limit.count());
  std::signal(SIGALRM, count_second);
  alarm(1);
  const NetOutcome outcome = run_case(*comms_.at(group), one, facts_.at(group).pools, export_file);
  alarm(0);
  return outcome;
}

NetOutcome NetWorld::run(const NetCase& one, std::chrono::seconds limit, const std::string& export_file) {
  const std::string text =
      nlohmann::ordered_json{{"case", to_json(one)}, {"limit", limit.count()}, {"export", export_file}}.dump();
  for (int rank = 1; rank < one.ranks; ++rank)
    MPI_Send(text.data(), static_cast<int>(text.size()), MPI_BYTE, rank, case_tag, world_.get());
  return take_part(one, limit, export_file);
}

void NetWorld::end() {
  for (int rank = 1; rank < world_.size(); ++rank) MPI_Send(nullptr, 0, MPI_BYTE, rank, case_tag, world_.get());
}

void NetWorld::serve() {
  while (true) {
    int arrived = 0, bytes = 0;
    MPI_Status status;
    while (MPI_Iprobe(0, case_tag, world_.get(), &arrived, &status), arrived == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    std::string text(static_cast<std::size_t>(bytes), ' ');
    MPI_Recv(text.data(), bytes, MPI_BYTE, 0, case_tag, world_.get(), MPI_STATUS_IGNORE);
    if (text.empty()) return;
    const auto json = nlohmann::ordered_json::parse(text);
    take_part(net_case_from_json(json.at("case"), "case"), std::chrono::seconds(json.at("limit").get<int>()),
              json.at("export").get<std::string>());
  }
}

}  // namespace shardmark::workloads
