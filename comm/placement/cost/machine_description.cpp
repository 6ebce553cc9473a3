// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/machine_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "comm/placement/exchange_shapes.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

constexpr double share_of_links = 0.9;
constexpr double large_message = 0x1p20;  ///< bytes; the seconds per byte are those up to here

enum class BoundBy { memory, cores, flops, neither };

/// Says what bounds a term, by its name.
BoundBy bound_of(std::string_view term, bool has_cores) {
  if (term.ends_with(".step") || term == "update.shard") return BoundBy::neither;
  if (has_cores) return term.ends_with("line") ? BoundBy::memory : BoundBy::cores;
  return term.starts_with("train.") ? BoundBy::flops : BoundBy::memory;
}

class Describer {
 public:
  explicit Describer(MachineModel like) : result_{std::move(like), {}} {}

  void scale_memory(double bytes_per_second) {
    MachineModel& machine = result_.machine;
    const double before = known(machine.sheet_memory_bytes_per_second, "--memory-bandwidth");
    const bool has_cores = machine.sheet_cores > 0.0;
    scale_terms(BoundBy::memory, before / bytes_per_second);
    for (double* rate :
         {&machine.stream_bytes_per_second, &machine.gather_bytes_per_second, &machine.update_bytes_per_second})
      *rate *= bytes_per_second / before;
    machine.sheet_memory_bytes_per_second = bytes_per_second;
    add(fmt::format("{:.4g} GB/s of memory a rank", bytes_per_second / 1e9),
        fmt::format("{} and rates of memory: those of {} x {:.4g} / {:.4g} GB/s",
                    has_cores ? "terms of 64-byte lines" : "terms of values, ids, rows and lines", machine.name,
                    before / 1e9, bytes_per_second / 1e9));
  }

  void scale_cores(double cores) {
    MachineModel& machine = result_.machine;
    const double before = known(machine.sheet_cores, "--cores");
    scale_terms(BoundBy::cores, before / cores);
    machine.flops *= cores / before;
    machine.sheet_cores = cores;
    add(fmt::format("{:g} cores a rank", cores),
        fmt::format("terms of ids, bags, rows, values and flops: those of {} x {:g} / {:g} cores", machine.name, before,
                    cores));
  }

  void set_links(const std::optional<NodeLinks>& links, const std::optional<double>& latency) {
    MachineModel& machine = result_.machine;
    const MessageCost before = machine.exchange(library_exchange).between;
    if (!links && before.bytes_per_second() <= 0.0)
      throw InputError(
          fmt::format("--latency: machine {} says nothing of links between nodes; give --links too", machine.name));
    const bool unknown = !latency && before.points.empty();
    const MessageCost& usual = unknown ? described_cluster().exchange(library_exchange).between : before;
    const double first = latency.value_or(usual.points.front().seconds);
    const double rate = links ? share_of_links * links->bytes_per_second : before.bytes_per_second();
    const auto message = [&](double start) {
      return MessageCost{{{0.0, start}, {large_message, start + large_message / rate}}};
    };
    bool in_rounds = false;  // a latency is that of a round where the machine has rounds, else of each message
    machine.exchanges[std::string(library_exchange)];
    for (auto& [name, exchange] : machine.exchanges) {
      in_rounds = in_rounds || exchange.between_round > 0.0;
      if (exchange.between_round > 0.0) exchange.between_round = latency.value_or(exchange.between_round);
      exchange.between = message(exchange.between_round > 0.0 ? before.points.front().seconds : first);
    }
    const MessageCost& sums = machine.all_reduce_between;
    machine.all_reduce_between =
        message(in_rounds && !sums.points.empty() ? latency.value_or(sums.points.front().seconds) : first);
    if (links) {
      machine.limit = {};  // as what slows messages down, it was that of other links
      machine.alone.between.clear();
      machine.node_bytes_per_second = rate * links->count;
      add(fmt::format("{}links of {:.4g} Gb/s a node", links->count > 1 ? fmt::format("{} ", links->count) : "",
                      8.0 * links->bytes_per_second / 1e9),
          fmt::format("messages between nodes: bytes at {:.0f} % of a link, all of a node at {:.0f} % of its links",
                      100.0 * share_of_links, 100.0 * share_of_links));
    }
    if (latency) add(fmt::format("latency of {:.3g} us", 1e6 * first), "messages between nodes begin with the latency");
    if (unknown)
      result_.rules.push_back(
          fmt::format("latency between nodes: {:.3g} us, that of {}", 1e6 * first, described_cluster().name));
    machine.measured = false;
    machine.fingerprint.clear();
  }

  void set_ranks_per_node(int ranks) {
    result_.machine.ranks_per_node = ranks;
    changes_.push_back(fmt::format("{} ranks a node", ranks));
  }

  void set_memory(double bytes) {
    result_.machine.memory_per_rank = bytes;
    changes_.push_back(fmt::format("{:.4g} GB a rank", bytes / 1e9));
  }

  MachineDescription finished() {
    if (!changes_.empty()) result_.machine.source += fmt::format("; with {}", fmt::join(changes_, ", "));
    return std::move(result_);
  }

 private:
  double known(double of_sheet, std::string_view option) const {
    if (of_sheet > 0.0) return of_sheet;
    throw InputError(
        fmt::format("{}: machine {} has none in its data sheet to scale from; leave it out, or use another machine",
                    option, result_.machine.name));
  }

  void scale_terms(BoundBy bound, double factor) {
    for (std::size_t t = 0; t < terms.size(); ++t)
      if (bound_of(terms[t].name, result_.machine.sheet_cores > 0.0) == bound) result_.machine.seconds[t] *= factor;
  }

  void add(std::string change, std::string rule) {
    changes_.push_back(std::move(change));
    result_.rules.push_back(std::move(rule));
  }

  MachineDescription result_;
  std::vector<std::string> changes_;
};

}  // namespace

MachineDescription described_machine(MachineModel like, const DataSheet& sheet) {
  Describer describer(std::move(like));
  if (sheet.cores) describer.scale_cores(*sheet.cores);
  if (sheet.memory_bytes_per_second) describer.scale_memory(*sheet.memory_bytes_per_second);
  if (sheet.links || sheet.latency) describer.set_links(sheet.links, sheet.latency);
  if (sheet.ranks_per_node) describer.set_ranks_per_node(*sheet.ranks_per_node);
  if (sheet.memory) describer.set_memory(*sheet.memory);
  return describer.finished();
}

}  // namespace shardmark::placement
