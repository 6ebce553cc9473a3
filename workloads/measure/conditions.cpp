// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/conditions.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>

#include "comm/collectives.hpp"
#include "reference/input_file.hpp"

namespace shardmark::workloads {
namespace {

std::vector<int> own_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> processors;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return processors;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) processors.push_back(cpu);
  return processors;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

ProcessorTimes processor_times(std::string_view stat, const std::vector<int>& processors) {
  const double tick = 1.0 / static_cast<double>(std::max(1L, sysconf(_SC_CLK_TCK)));
  ProcessorTimes times;
  std::istringstream lines{std::string(stat)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("cpu") || line.size() < 4 || line[3] < '0' || line[3] > '9') continue;
    std::istringstream words(line.substr(3));
    int cpu = -1;
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are among users.
    std::array<double, 8> spent{};
    words >> cpu;
    for (double& each : spent) words >> each;
    if (!std::ranges::binary_search(processors, cpu)) continue;
    times.busy += tick * (spent[0] + spent[1] + spent[2] + spent[5] + spent[6]);
    times.stolen += tick * spent[7];
  }
  return times;
}

std::int64_t runnable_threads(std::string_view loadavg) {
  std::istringstream words{std::string(loadavg)};
  std::string skipped;
  std::int64_t runnable = 0;
  words >> skipped >> skipped >> skipped >> runnable;
  return words ? runnable : 0;
}

ConditionsWatch::ConditionsWatch(const comm::Communicator& comm) : comm_(comm) {
  const auto own = own_processors();
  const auto all = comm::all_gather(comm, std::span<const int>(own));
  if (comm.node_rank() != 0) return;
  for (const int rank : comm.ranks_of(comm.node_of(comm.rank())))
    std::ranges::copy(all.of(rank), std::back_inserter(processors_));
  std::ranges::sort(processors_);
  const auto repeated = std::ranges::unique(processors_);
  processors_.erase(repeated.begin(), repeated.end());
}

ConditionsWatch::Snapshot ConditionsWatch::now() const {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  Snapshot snapshot{MPI_Wtime(), seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime), usage.ru_nivcsw, {}};
  if (comm_.node_rank() == 0) snapshot.processors = processor_times(file_text("/proc/stat").value_or(""), processors_);
  return snapshot;
}

void ConditionsWatch::begin() {
  comm::barrier(comm_);
  runnable_ =
      comm_.node_rank() == 0
          ? std::max<std::int64_t>(0, runnable_threads(file_text("/proc/loadavg").value_or("")) - comm_.node_size())
          : 0;
  begun_ = now();
}

results::VisitConditions ConditionsWatch::end() const {
  const Snapshot ended = now();
  const auto own = comm::all_gather(comm_, ended.own - begun_.own);
  double of_others = 0.0, stolen = 0.0;
  if (comm_.node_rank() == 0) {
    double of_ranks = 0.0;
    for (const int rank : comm_.ranks_of(comm_.node_of(comm_.rank()))) of_ranks += own[rank];
    of_others = std::max(0.0, ended.processors.busy - begun_.processors.busy - of_ranks);
    stolen = std::max(0.0, ended.processors.stolen - begun_.processors.stolen);
  }
  std::array times{ended.time - begun_.time, of_others, stolen};
  comm::all_reduce(comm_, std::span<double>(times), comm::Reduce::max);
  return {.seconds = times[0],
          .switches = comm::all_reduce(comm_, ended.switches - begun_.switches, comm::Reduce::max),
          .others_cpu_seconds = times[1],
          .stolen_seconds = times[2],
          .runnable = comm::all_reduce(comm_, runnable_, comm::Reduce::max)};
}

}  // namespace shardmark::workloads
