// SPDX-License-Identifier: Apache-2.0
#include "results/table/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "results/statistics.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;
using Advice = std::optional<std::string>;

constexpr std::size_t most_advice = 3;

bool differs(const Findings& f, const std::string& field) {
  return std::ranges::any_of(
      f.cases, [&](const CaseRecord* r) { return value_of(*r, field) != value_of(*f.cases.front(), field); });
}

bool splits_rows(const CaseRecord& record) {
  return record.plan.find("row_wise") != std::string::npos || record.plan.find("grid") != std::string::npos;
}

/// Half the interval's width / the median.
double relative_half_width(const CaseRecord& r) { return (r.step_ms.high - r.step_ms.low) / (2.0 * r.step_ms.median); }

/// {host: ...} of the ranks in the environment record, where they say.
std::map<std::string, std::int64_t> threads_by_host(const Json& environment) {
  std::map<std::string, std::int64_t> threads;
  const Json ranks = environment.value("ranks", Json());
  if (ranks.is_array())
    for (const Json& rank : ranks) {
      const Json count = rank.is_object() ? rank.value("threads", Json()) : Json();
      threads[text_at(rank, "/host")] += count.is_number_integer() ? count.get<std::int64_t>() : 1;
    }
  return threads;
}

bool between_hosts(const Findings& f) { return threads_by_host(f.environment).size() > 1; }

/// "--seconds 20 (now 5)", or the same of steps where their number was given.
std::string longer(const CaseRecord& record) {
  constexpr double times = 4.0, least_steps = 20.0;
  const auto number = [&](const char* name) {
    const auto found = record.details.find(name);
    return found != record.details.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  if (const double steps = number("steps"); steps > 0.0)
    return fmt::format("--steps {:g} (now {:g})", std::max(least_steps, times * steps), steps);
  if (const double budget = number("budget"); budget > 0.0)
    return fmt::format("--budget {:g}s (now {:g}s)", times * budget, budget);
  if (const double seconds = number("seconds"); seconds > 0.0)
    return fmt::format("--seconds {:g} (now {:g})", times * seconds, seconds);
  return "by --seconds or --steps";
}

/// Returns what the command called the workload, such as "my.json"; its name where the command does not begin with it.
std::string workload_typed(const Findings& f) {
  const std::string typed = text_at(f.environment, "/arguments/2");
  return typed == "unknown" || typed.starts_with('-') ? f.best().workload : typed;
}

}  // namespace

Advice if_build_is_slow(const Findings& f) {
  const std::string type = text_at(f.environment, "/build/type");
  if (type == "Release" || type == "RelWithDebInfo" || type == "unknown") return {};
  return fmt::format("measure with an optimised build (preset release); this one is {}", type);
}

Advice if_threads_exceed_cores(const Findings& f) {
  const Json::json_pointer place("/machine/logical_cpus");
  if (!f.environment.contains(place) || !f.environment.at(place).is_number_integer()) return {};
  const auto processors = f.environment.at(place).get<std::int64_t>();
  for (const auto& [host, threads] : threads_by_host(f.environment))
    if (threads > processors)
      return fmt::format(
          "take fewer ranks or --threads: {} threads shared {} processors of {}, so that ranks waited "
          "for a processor",
          threads, processors, host);
  return {};
}

Advice if_one_plan_was_measured(const Findings& f) {
  if (differs(f, "plan")) return {};
  return fmt::format("compare it with other plans in one run: shardmark compare {}", workload_typed(f));
}

Advice if_intervals_are_wide(const Findings& f) {
  constexpr double wide = 0.05, narrow_enough = 0.01;
  const auto beside = f.leaders.size() > 1 ? std::optional(f.beside(*f.leaders[1], f.best())) : std::nullopt;
  const bool tied = beside && !beside->is_distinguishable();
  const double width =
      tied ? std::log(beside->high / beside->low) / 2.0 : relative_half_width(f.best());  // of the ratio that is open
  if (independent_samples(f.best()) < samples_for_interval)
    return fmt::format("measure longer, {}: fewer than {} samples give no interval", longer(f.best()),
                       samples_for_interval);
  if (width < (tied ? narrow_enough : wide)) return {};
  return fmt::format("measure longer, {}: {}", longer(f.best()),
                     width < 1.0 ? fmt::format("intervals are ± {:.0f} % wide", 100.0 * width)
                                 : "the intervals are wider than the times themselves");
}

Advice if_rows_are_split_one_way(const Findings& f) {
  const auto split = std::ranges::find_if(f.leaders, [](const CaseRecord* r) { return splits_rows(*r); });
  if (split == f.leaders.end() || (*split)->ranks < 2 || differs(f, "transfer")) return {};
  const std::string transfer = (*split)->option("transfer");
  if (transfer == "auto" || transfer == "unique_rows") return {};
  return fmt::format(
      "--transfer auto: {} was measured with {} alone, and where rows are split what travels matters most",
      (*split)->plan, transfer);
}

Advice if_exchanges_dominate(const Findings& f) {
  constexpr double dominant = 0.4;
  const CaseRecord& best = f.best();
  if (f.exchange_share() < dominant || best.ranks < 2 || best.option("wire_forward") != "fp32" ||
      differs(f, "wire_forward"))
    return {};
  return fmt::format("--wire fp16: exchanges are {:.0f} % of the step, and fp16 halves their bytes{}",
                     100.0 * f.exchange_share(),
                     between_hosts(f) ? "" : ", though on one host converting may cost what it saves");
}

Advice if_calls_are_exposed(const Findings& f) {
  constexpr double dominant = 0.3, worth_hiding = 0.2;
  const CaseRecord& best = f.best();
  if (!between_hosts(f) || !best.exposed_ms || differs(f, "groups") || best.option("groups") != "1") return {};
  if (*best.exposed_ms < dominant * best.step_ms.median || f.share("lookup") + f.share("update") < worth_hiding)
    return {};
  return fmt::format("--groups 4: ranks wait for {:.0f} % of the step, and groups of tables compute meanwhile",
                     100.0 * *best.exposed_ms / best.step_ms.median);
}

Advice if_ranks_are_unequal(const Findings& f) {
  constexpr double unequal = 1.2, worth_mending = 0.1;
  if (f.best().imbalance <= unequal || f.share("lookup") < worth_mending) return {};
  return fmt::format(
      "move tables off the slowest rank, which looks up {:.2f} times the mean: another planner, or a plan "
      "of your own (shardmark plan create)",
      f.best().imbalance);
}

Advice if_lookup_dominates(const Findings& f) {
  constexpr double dominant = 0.5, nearly_all = 0.9;
  if (f.share("lookup") < dominant) return {};
  const auto share = f.best().details.find("huge_page_share");
  if (share != f.best().details.end() && share->is_number() && share->get<double>() < nearly_all)
    return fmt::format("huge pages: only {:.0f} % of the rows lie in them; shardmark doctor says what to change",
                       100.0 * share->get<double>());
  return "shardmark doctor, which says how fast this machine reads rows at best; --dtype fp16 halves what is read";
}

Advice if_updates_dominate(const Findings& f) {
  constexpr double dominant = 0.4;
  const CaseRecord& best = f.best();
  if (f.share("update") < dominant || best.ranks < 2 || best.plan.find("data_parallel") == std::string::npos ||
      best.option("replicated_gradients") != "dense" || differs(f, "replicated_gradients") ||
      best.option("storage") == "tt")
    return {};
  return fmt::format(
      "--replicated-gradients rows: updates are {:.0f} % of the step, and rows sends no gradients of "
      "rows that no sample named",
      100.0 * f.share("update"));
}

Advice if_tables_are_scaled(const Findings& f) {
  const std::string scale = value_of(f.best(), "scale");
  if (scale == "1" || scale == "-") return {};
  return fmt::format("--scale 1 before you decide: tables of {} of their rows lie in caches", scale);
}

std::vector<std::string> advice(const Findings& findings) {
  std::vector<std::string> lines;
  for (const Rule& rule : rules)
    if (const Advice text = rule.advise(findings); text && lines.size() < most_advice)
      lines.push_back(fmt::format("Next: {}.", *text));
  return lines;
}

}  // namespace shardmark::results
