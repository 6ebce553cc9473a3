// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/step_path.hpp"

#include <algorithm>
#include <optional>

#include "comm/placement/cost/step_cost.hpp"

namespace shardmark::placement {
namespace {

/// Starts parts in their order: each when those before it that it needs have ended and its resource is free.
class Timeline {
 public:
  /// Takes the seconds for which links have rested when the step begins, and beyond which they regain nothing.
  Timeline(double rested, double most_rested) : rested_(rested), most_rested_(most_rested) {}

  /// Adds a part that needs `before`, a part or none, and returns its number.
  std::size_t add(std::string_view name, Phase phase, Resource resource, ExchangeTime time,
                  std::optional<std::size_t> before, std::optional<std::size_t> other = {}) {
    const auto at = static_cast<std::size_t>(resource);
    double begin = free_[at];
    std::optional<std::size_t> waits = last_[at];
    for (const auto& needed : {before, other})
      if (needed && end(*needed) >= begin) {
        begin = end(*needed);
        waits = needed;
      }
    const std::size_t number = path_.count++;
    const double held_back = time.links > 0.0 ? use_links(begin, time) : 0.0;
    path_.parts[number] = {name, phase, resource, time.messages + held_back, begin, held_back};
    waits_[number] = waits;
    free_[at] = end(number);
    last_[at] = number;
    return number;
  }

  double end(std::size_t part) const { return path_.parts[part].begin + path_.parts[part].seconds; }

  /// Returns for how long links have rested when the step ends.
  double rested() { return rested_at(finished().seconds); }

  StepPath finished() {
    std::optional<std::size_t> at;
    for (std::size_t p = 0; p < path_.count; ++p)
      if (!at || end(p) > end(*at)) at = p;
    path_.seconds = at ? end(*at) : 0.0;
    for (; at; at = waits_[*at]) path_.parts[*at].critical = path_.parts[*at].seconds > 0.0;
    return path_;
  }

 private:
  double rested_at(double now) const { return std::min(most_rested_, rested_ + now - known_at_); }

  /// Returns the seconds by which an exchange takes longer than its messages, for links to carry its bytes.
  double use_links(double begin, const ExchangeTime& time) {
    const double rested = rested_at(begin), held_back = std::max(0.0, time.links - time.messages - rested);
    rested_ = std::min(most_rested_, rested + time.messages + held_back - time.links);
    known_at_ = begin + time.messages + held_back;
    return held_back;
  }

  double rested_, most_rested_, known_at_ = 0.0;
  StepPath path_;
  std::array<std::optional<std::size_t>, std::tuple_size_v<decltype(StepPath::parts)>> waits_{};
  std::array<double, step_resources.size()> free_{};
  std::array<std::optional<std::size_t>, step_resources.size()> last_{};
};

/// Holds what of a part of a step's phases is not hidden by its groups: all of the longer of computing and exchanging,
/// and of the other that of one group.
struct Exposed {
  double computing = 1.0, exchanging = 1.0;

  Exposed(const std::array<double, phase_count>& computes, const std::array<ExchangeTime, phase_count>& exchanges,
          Phase first, Phase last, double groups) {
    double computed = 0.0, exchanged = 0.0;
    for (std::size_t p = index_of(first); p <= index_of(last); ++p) {
      computed += computes[p];
      exchanged += exchanges[p].messages;
    }
    (computed < exchanged ? computing : exchanging) = 1.0 / groups;
  }
};

/// Adds all parts of a step (step_path()) to a timeline.
void add_parts(const StepContext& step, const MachineModel& machine, const std::array<double, phase_count>& computing,
               const std::array<ExchangeTime, phase_count>& exchanging, Timeline& time) {
  const bool by_cores = machine.on_processors && step.layout().nodes() == 1;  // those that compute copy what travels
  const double groups = by_cores ? 1.0 : static_cast<double>(std::max<std::int64_t>(step.groups, 1));
  const Exposed forward(computing, exchanging, Phase::input_dist, Phase::output_dist, groups);
  const Exposed backward(computing, exchanging, Phase::grad_dist, Phase::update, groups);
  const Resource links = step.layout().nodes() > 1 ? Resource::between : Resource::inside;
  const Software& software = machine.software;
  const auto compute = [&](std::string_view name, Phase phase, double share, std::optional<std::size_t> before,
                           std::optional<std::size_t> other = {}) {
    return time.add(name, phase, Resource::compute, {share * computing[index_of(phase)]}, before, other);
  };
  const auto exchange = [&](std::string_view name, Phase phase, double share, std::optional<std::size_t> before,
                            std::optional<std::size_t> other = {}) {
    const ExchangeTime& all = exchanging[index_of(phase)];
    return time.add(name, phase, links, {share * all.messages, all.links}, before, other);
  };
  const auto input = [&](std::optional<std::size_t> before) {
    const std::size_t routed = compute("ids are routed", Phase::input_dist, forward.computing, before);
    return exchange("ids travel", Phase::input_dist, forward.exchanging, routed);
  };

  std::optional<std::size_t> last;
  const bool prefetched = software.overlapping(Overlap::input);
  if (!prefetched) last = input(last);
  last = compute("rows are looked up", Phase::lookup, forward.computing, last);
  last = compute("embeddings are put together", Phase::output_dist, forward.computing, last);
  const std::size_t embeddings = exchange("embeddings travel", Phase::output_dist, forward.exchanging, last);
  if (prefetched) input(last);  // while they travel, and during the dense half
  // Forward takes a third of the flops, as do the gradients of activations and those of weights.
  const bool in_turn = !software.overlapping(Overlap::weights);
  std::size_t dense = compute("dense layers", Phase::dense, in_turn ? 1.0 : 2.0 / 3, embeddings);
  std::size_t weights = dense;
  const bool sums_later = software.overlapping(Overlap::sums);
  const auto sums = [&] { return exchange("dense gradients are summed", Phase::dense, 1.0, weights); };
  if (in_turn && !sums_later) dense = sums();
  last = compute("gradients are packed", Phase::grad_dist, backward.computing, dense);
  const std::size_t gradients = exchange("gradients travel", Phase::grad_dist, backward.exchanging, last);
  if (!in_turn) weights = compute("gradients of weights", Phase::dense, 1.0 / 3, last);
  std::optional<std::size_t> summed;
  if (!in_turn || sums_later) summed = sums();
  const auto replicas = [&](std::optional<std::size_t> before) {
    return exchange("replicated rows are summed", Phase::update, backward.exchanging, before);
  };
  last = gradients;
  if (!sums_later && summed) last = summed;
  const std::size_t copies = replicas(last);
  if (!software.overlapping(Overlap::replicas)) last = copies;
  compute("rows are updated", Phase::update, backward.computing, last, gradients);
}

}  // namespace

StepPath step_path(const StepContext& step, const MachineModel& machine,
                   const std::array<double, phase_count>& computing,
                   const std::array<ExchangeTime, phase_count>& exchanging) {
  const double most = machine.limit.burst_seconds();
  double used = 0.0;
  for (const ExchangeTime& time : exchanging) used += time.links;
  const auto timeline = [&](double rested, double most_rested) {
    Timeline time(rested, most_rested);
    add_parts(step, machine, computing, exchanging, time);
    return time;
  };
  if (used <= 0.0) return timeline(0.0, 0.0).finished();
  // A step that begins with links which have rested for r leaves them with min(U, max(L, r + d)), d being what they
  // regain in a step that nothing holds back: step after step, that becomes U or, where d is less than 0, L.
  const double free = timeline(used, used).finished().seconds;
  const double rested = timeline(free < used ? 0.0 : most, most).rested();
  return timeline(rested, most).finished();
}

}  // namespace shardmark::placement
