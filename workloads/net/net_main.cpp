// SPDX-License-Identifier: Apache-2.0
// Runs cases that are drawn over all tables of choices, and asks oracles whether they were right. See README.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>
#include <filesystem>
#include <fstream>
#include <optional>

#include "comm/agree.hpp"
#include "comm/exchange/exchanges.hpp"
#include "comm/session.hpp"
#include "workloads/net/coverage.hpp"
#include "workloads/net/net_setup.hpp"
#include "workloads/net/net_world.hpp"
#include "workloads/net/shrink.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

struct NetArguments {
  std::uint64_t first = 1;
  std::int64_t cases = 100;
  double seconds = 0.0;
  int threads = 1, limit = 60;
  std::vector<std::string> files, fixed;
  std::string data, state, summary, found, exports, candidates, pairs;
  int tries = 300;
  std::optional<std::size_t> turn;
  bool times = false;
};

NetArguments read_arguments(CLI::App& app, int argc, char** argv) {
  NetArguments arguments;
  app.add_option("--first", arguments.first, "number of the first case, from which it is drawn");
  app.add_option("--cases", arguments.cases, "how many");
  app.add_option("--seconds", arguments.seconds, "begin no case after so long (0: no limit)");
  app.add_option("--threads", arguments.threads, "of each rank");
  app.add_option("--limit", arguments.limit, "seconds of a case, after which it hangs and is ended by SIGALRM")
      ->take_last();
  app.add_option("--case", arguments.files, "files of cases to run instead");
  app.add_option("--set", arguments.fixed, "KEY=VALUE: options that all cases have");
  app.add_option("--turn", arguments.turn,
                 "of this launch among others: its first case takes the exchange of this turn");
  app.add_option("--pairs", arguments.pairs,
                 "file of [value, value, cases]: so many cases for each two values instead, such as async=rows");
  app.add_option("--data", arguments.data, "folder for files of samples, which are made where they are missing");
  app.add_option("--state", arguments.state, "where each case is written before it runs");
  app.add_option("--summary", arguments.summary, "where counts are written");
  app.add_option("--found", arguments.found, "folder for cases that failed");
  app.add_option("--exports", arguments.exports, "folder for steps of some cases, to be verified by others");
  app.add_option("--tries", arguments.tries, "most cases that are run to make one that failed smaller");
  app.add_flag("--times", arguments.times, "print the seconds of each case");
  app.add_option("--candidates", arguments.candidates, "print the cases that are a step smaller than that of a file");
  app.parse(argc, argv);
  return arguments;
}

Json read_json(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw InputError(file + ": cannot be read");
  return Json::parse(in);
}

/// Runs what rank 0 does.
class Net {
 public:
  Net(const NetArguments& arguments, NetWorld& world) : arguments_(arguments), world_(world) {
    conditions_.threads = arguments.threads;
    conditions_.groups = world.groups();
    if (!arguments.data.empty()) conditions_.files["data"] = sample_files(arguments.data);
    for (const std::string& text : arguments.fixed)
      conditions_.fixed[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }

  int run() {
    if (!arguments_.pairs.empty())
      draw_pairs(read_json(arguments_.pairs));
    else if (arguments_.files.empty()) {
      if (arguments_.turn) draw_first(*arguments_.turn);
      for (; number_ < arguments_.first + arguments_.cases && !is_late(); ++number_) draw();
    }
    for (const std::string& file : arguments_.files) check(case_of(file));
    report();
    return failed_ == 0 ? 0 : 1;
  }

 private:
  double seconds() const { return MPI_Wtime() - begin_; }
  bool is_late() const { return arguments_.seconds > 0.0 && seconds() > arguments_.seconds; }

  /// Draws a case; returns whether the program takes any of what was drawn.
  bool draw() {
    const double begin = MPI_Wtime();
    const auto one = draw_case(number_, conditions_, refusals_);
    seconds_of_draws_ += MPI_Wtime() - begin;
    if (one) check(*one);
    return one.has_value();
  }

  /// Draws a case whose threads are the first of the launch to use an exchange: what MPI opens once, such as its
  /// topologies, they would open at one time.
  void draw_first(std::size_t turn) {
    const Json fixed = conditions_.fixed;
    conditions_.fixed.update({{"async", "ids"},
                              {"async_pool", "shared"},
                              {"async_threads", "4"},
                              {"exchange", comm::exchanges[turn % comm::exchanges.size()].name}});
    draw();
    conditions_.fixed = fixed;
  }

  /// Draws cases for pairs of values: the case of a number is another for other values.
  void draw_pairs(const Json& pairs) {
    for (const Json& each : pairs) {
      const auto a = each.at(0).get<std::string>(), b = each.at(1).get<std::string>();
      for (auto left = each.at(2).get<std::int64_t>(); left > 0 && !is_late(); --left, ++number_)
        if (!fix_values(number_, {a, b}, conditions_) || !draw()) break;
    }
  }

  CaseSetup set_up_of(const NetCase& one) const {
    return set_up(one, conditions_.groups.at({one.ranks, one.leaders}).pools);
  }

  /// Reads a case; its files of samples are those of this launch.
  NetCase case_of(const std::string& file) const {
    NetCase one = net_case_from_json(read_json(file), file);
    one.threads = arguments_.threads;
    if (one.options.contains("data") && !arguments_.data.empty())
      one.options["data"] =
          arguments_.data + "/" + std::filesystem::path(one.options["data"].get<std::string>()).filename().string();
    resolve(one, conditions_);
    return one;
  }

  /// Returns the file to export to, for a share of the cases, which is written beside it; for none whose wire rounds,
  /// since other readers of the export know no bound of that.
  std::string export_file(const NetCase& one) const {
    constexpr std::uint64_t share = 16;
    if (arguments_.exports.empty() || one.seed % share != 2) return {};
    if (set_up_of(one).config().movement.wire != WireTypes{}) return {};
    const std::string name = fmt::format("{}/case_{}", arguments_.exports, one.number);
    write(one, name);
    return name + ".h5";
  }

  NetOutcome run(const NetCase& one, const std::string& export_file = {}) {
    if (!arguments_.state.empty()) std::ofstream(arguments_.state) << to_json(one).dump() << std::endl;
    return world_.run(one, std::chrono::seconds(arguments_.limit), export_file);
  }

  void check(const NetCase& one) {
    const double begin = MPI_Wtime();
    const NetOutcome outcome = run(one, export_file(one));
    if (arguments_.times) fmt::print("time {:.3f} {} {}\n", MPI_Wtime() - begin, one.number, one.options.dump());
    slowest_ = std::max(slowest_, std::pair(MPI_Wtime() - begin, one.number));
    if (!outcome.refused.empty()) {
      refusals_.add(one, "late: " + outcome.refused);
      return;
    }
    coverage_.add(one, set_up_of(one));
    for (const auto& [kind, near] : outcome.closeness) closeness_[kind].add(near);
    if (!outcome.failed.empty()) tell(one, outcome);
  }

  bool fails(NetCase one) {
    try {
      resolve(one, conditions_);
    } catch (const InputError&) {
      return false;
    }
    return !run(one).failed.empty();
  }

  void tell(const NetCase& one, const NetOutcome& outcome) {
    ++failed_;
    fmt::print("case {} FAILED: {}\n", one.number, outcome.failed);
    std::fflush(stdout);
    if (!arguments_.found.empty()) write(one, fmt::format("{}/case_{}", arguments_.found, one.number));
    if (arguments_.tries == 0) return;
    NetCase small = shrunk(
        one, [&](const NetCase& other) { return fails(other); }, arguments_.tries);
    resolve(small, conditions_);
    fmt::print("  made smaller: {}\n", run(small).failed);
    const std::string name = fmt::format("{}/small_{}", arguments_.found.empty() ? "." : arguments_.found, one.number);
    if (!arguments_.found.empty()) write(small, name);
    fmt::print("  {}\n", command_of(small, name + ".spec.json", name + ".plan.json"));
    if (!small.leaders.empty()) fmt::print("  nodes are pretended: run this program with --case {}.json\n", name);
    std::fflush(stdout);
  }

  static void write(const NetCase& one, const std::string& name) {
    std::ofstream(name + ".json") << to_json(one).dump(1) << "\n";
    std::ofstream(name + ".spec.json") << one.workload.dump(1) << "\n";
    std::ofstream(name + ".plan.json") << one.plan.dump(1) << "\n";
  }

  void report() const {
    fmt::print(
        "net: {} cases ran in {:.1f} s ({:.1f}/s), {} failed, {} were refused; draws took {:.1f} s, the slowest case "
        "{:.2f} s ({})\n",
        coverage_.cases(), seconds(), static_cast<double>(coverage_.cases()) / seconds(), failed_, refusals_.total(),
        seconds_of_draws_, slowest_.first, slowest_.second);
    if (arguments_.summary.empty()) return;
    Json closeness = Json::object();
    for (const auto& [kind, near] : closeness_) closeness[kind] = {near.values, near.closest};
    std::ofstream(arguments_.summary) << Json{{"first", arguments_.first},
                                              {"next", number_},
                                              {"cases", coverage_.cases()},
                                              {"failed", failed_},
                                              {"seconds", seconds()},
                                              {"threads", arguments_.threads},
                                              {"refused", refusals_.by_reason()},
                                              {"refused_pairs", refusals_.reasons_of_pairs()},
                                              {"known", all_values()},
                                              {"values", coverage_.values()},
                                              {"closeness", closeness},
                                              {"pairs", coverage_.pairs()}}
                                             .dump()
                                      << "\n";
  }

  const NetArguments& arguments_;
  NetWorld& world_;
  NetConditions conditions_;
  std::uint64_t number_ = arguments_.first;  ///< of the next case
  Refusals refusals_;
  Coverage coverage_;
  ClosenessByKind closeness_;
  std::int64_t failed_ = 0;
  double seconds_of_draws_ = 0.0;
  const double begin_ = MPI_Wtime();
  std::pair<double, std::uint64_t> slowest_;
};

void print_candidates(const std::string& file) {
  Json all = Json::array();
  for (const NetCase& each : smaller_cases(net_case_from_json(read_json(file), file))) all.push_back(to_json(each));
  fmt::print("{}\n", all.dump());
}

int run_net(const comm::Communicator& world, const NetArguments& arguments) {
  const Kokkos::ScopeGuard kokkos(
      Kokkos::InitializationSettings().set_num_threads(arguments.threads).set_disable_warnings(true));
  NetWorld ranks(world);
  if (world.rank() != 0) {
    ranks.serve();
    return 0;
  }
  const int code = Net(arguments, ranks).run();
  ranks.end();
  return code;
}

}  // namespace
}  // namespace shardmark::workloads

int main(int argc, char** argv) {
  using namespace shardmark;
  using namespace shardmark::workloads;
  CLI::App app("Runs cases that are drawn over all tables of choices, and asks oracles whether they were right.");
  NetArguments arguments;
  try {
    arguments = read_arguments(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  if (!arguments.candidates.empty()) {
    print_candidates(arguments.candidates);
    return 0;
  }
  return comm::with_mpi([&](const comm::Communicator& world) { return run_net(world, arguments); },
                        comm::MpiThreads::several);
}
