// SPDX-License-Identifier: Apache-2.0
#include "results/table/answer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "results/json_text.hpp"
#include "results/modes.hpp"
#include "results/statistics.hpp"
#include "results/table/advice.hpp"
#include "results/table/predictions.hpp"
#include "results/table/tensor_trains.hpp"
#include "results/twin.hpp"
#include "results/verdict.hpp"

namespace shardmark::results {
namespace {

constexpr std::size_t most_names = 5;

/// "a, b and c"; with more than most_names "a, b, c, d and 7 more".
std::string listed(std::vector<std::string> names, std::string_view joint) {
  std::string last = names.back();
  if (names.size() == 1) return last;
  if (names.size() > most_names) {
    last = fmt::format("{} more", names.size() - most_names + 1);
    names.resize(most_names);
  }
  names.pop_back();
  return fmt::format("{} {} {}", fmt::join(names, ", "), joint, last);
}

/// "1.28 times [1.25, 1.31]".
std::string times_text(const TimeRatio& r) {
  const std::string text = ratio_text(r);
  const std::size_t space = std::min(text.find(' '), text.size());
  return text.substr(0, space) + " times" + text.substr(space);
}

std::string time_text(const CaseRecord& record) {
  return fmt::format("{} ms [{}, {}] a step, {} samples/s", figure(record.step_ms.median), figure(record.step_ms.low),
                     figure(record.step_ms.high), with_commas(record.samples_per_s));
}

bool has_interval(const CaseRecord& record) { return independent_samples(record) >= samples_for_interval; }

/// Returns those of the records that are statistically indistinguishable from the first, the first included.
Records ties(const Findings& f, const Records& records) {
  Records tied;
  std::ranges::copy_if(records, std::back_inserter(tied), [&](const CaseRecord* record) {
    return record == records.front() || !f.beside(*record, *records.front()).is_distinguishable();
  });
  return tied;
}

template <class Name>
std::vector<std::string> names_of(const Records& records, Name&& name) {
  std::vector<std::string> names;
  for (const CaseRecord* record : records) names.push_back(name(*record));
  return names;
}

std::string opening(const Findings& f) {
  const auto picked = f.best().details.find("picked");
  const std::string best = fmt::format(
      "{}{}: {}.", f.name_of(f.best()),
      picked == f.best().details.end() ? "" : fmt::format(", where auto picked {}", plain(text_of(*picked))),
      time_text(f.best()));
  if (f.leaders.size() > 1) return fmt::format("The fastest {} is {}", f.field, best);
  return f.cases.size() > 1 ? fmt::format("The only {} with a valid case is {}", f.field, best) : best;
}

/// Says by how much it is faster than the runner-up, or that they are statistically indistinguishable.
std::string beside_runner_up(const Findings& f) {
  const CaseRecord &best = f.best(), &next = *f.leaders[1];
  const TimeRatio ratio = f.beside(next, best);
  if (!has_interval(best) || !has_interval(next))
    return fmt::format(
        "It was {:.2f} times as fast as the runner-up, {}; fewer than {} samples cannot tell that from chance.",
        ratio.ratio, f.name_of(next), samples_for_interval);
  if (Records tied = ties(f, f.leaders); tied.size() > 1) {
    tied.erase(tied.begin());
    const auto names = names_of(tied, [&](const CaseRecord& r) { return f.name_of(r); });
    return fmt::format("It is statistically indistinguishable from {}{}; choose {}.", listed(names, "and"),
                       tied.size() == 1 ? fmt::format(", {} as fast", times_text(f.beside(*tied.front(), best))) : "",
                       tied.size() == 1 ? "either" : "any of them");
  }
  return fmt::format("It is {} as fast as the runner-up, {}.", times_text(ratio), f.name_of(next));
}

std::string slowest(const Findings& f) {
  const CaseRecord& last = *f.leaders.back();
  if (f.leaders.size() < 3) return "";
  const TimeRatio ratio = f.beside(last, f.best());
  if (!ratio.is_distinguishable()) return "";
  return fmt::format("The slowest, {}, takes {:.2f} times as long.", f.name_of(last), ratio.ratio);
}

/// Says whether anything but the field matters to its best value.
std::string within(const Findings& f) {
  Records cases;
  std::ranges::copy_if(f.valid, std::back_inserter(cases), [&](const CaseRecord* record) {
    return value_of(*record, f.field) == value_of(f.best(), f.field);
  });
  if (cases.size() < 2 || !has_interval(f.best())) return "";
  const Records tied = ties(f, cases);
  const auto names = names_of(tied, [&](const CaseRecord& r) { return f.rest_of(r); });
  const std::string start = fmt::format("Within {} ({} cases)", value_of(f.best(), f.field), cases.size());
  const std::string worst = fmt::format("; the slowest, {}, takes {:.2f} times as long", f.rest_of(*cases.back()),
                                        f.beside(*cases.back(), f.best()).ratio);
  if (tied.size() == cases.size()) return fmt::format("{} all are statistically indistinguishable: choose any.", start);
  if (tied.size() > 1)
    return fmt::format("{} {} are statistically indistinguishable{}.", start, listed(names, "and"),
                       tied.back() == cases.back() ? "" : worst);
  return fmt::format("{} {} is the fastest, {} as fast as {}{}.", start, names.front(),
                     times_text(f.beside(*cases[1], f.best())), f.rest_of(*cases[1]), cases.size() > 2 ? worst : "");
}

/// "Its time: 42 % lookup, 31 % exchanges (input 5, output 14, grad 12), 20 % update, 7 % dense".
std::string time_shares(const Findings& f) {
  if (f.step_ms <= 0.0) return "";
  struct Part {
    double share;
    std::string text;
  };
  std::vector<Part> parts;
  std::vector<std::string> exchanges;
  for (const PhaseTime& phase : f.best().phases) {
    const double percent = 100.0 * f.share(phase.name);
    if (phase.name.ends_with("_dist"))
      exchanges.push_back(fmt::format("{} {:.0f}", phase.name.substr(0, phase.name.find("_dist")), percent));
    else if (percent >= 0.5)
      parts.push_back({percent, phase.name});
  }
  if (!exchanges.empty() && f.exchange_share() >= 0.005)
    parts.push_back({100.0 * f.exchange_share(),
                     fmt::format("{} ({})", f.best().ranks > 1 ? "exchanges" : "packing", fmt::join(exchanges, ", "))});
  std::ranges::stable_sort(parts, std::greater(), &Part::share);
  std::string text = "Its time: ";
  for (const Part& part : parts) text += fmt::format("{:.0f} % {}, ", part.share, part.text);
  text.resize(text.size() - 2);
  if (f.best().communication_ms && f.best().ranks > 1)
    text += fmt::format("; {:.0f} % of the step in communication calls, waiting for other ranks included",
                        100.0 * *f.best().communication_ms / f.best().step_ms.median);
  return text + ".";
}

/// Names the cases whose times have two modes, so that their median describes neither.
std::vector<std::string> mode_sentences(const Findings& f) {
  constexpr std::size_t most = 3;
  std::vector<std::string> sentences;
  std::size_t more = 0;
  for (const CaseRecord* record : f.valid) {
    const auto modes = modes_of(record->details);
    if (!modes) continue;
    if (sentences.size() == most && ++more > 0) continue;
    sentences.push_back(fmt::format(
        "The times of {} have two modes, {} ms in {:.0f} % of its steps and {} ms in {:.0f} %: no single number "
        "describes them.",
        f.name_of(*record), figure(modes->fast_ms), 100.0 * (1.0 - modes->slow_share), figure(modes->slow_ms),
        100.0 * modes->slow_share));
  }
  if (more > 0) sentences.push_back(fmt::format("So have those of {} more cases.", more));
  return sentences;
}

/// "Not measured, as the budget was spent: row_wise auto auto".
std::string left_out(const Findings& f) {
  const auto found = f.environment.find("left_out");
  std::vector<std::string> names;
  if (f.environment.is_object() && found != f.environment.end() && found->is_array())
    for (const auto& name : *found) names.push_back(plain(text_of(name)));
  if (names.empty()) return "";
  return fmt::format("Not measured, as --budget has no time for {}: {}.", names.size() == 1 ? "it" : "them",
                     listed(names, "and"));
}

/// Says what this job could have shown, by the case that was measured twice.
std::string certificate(const Findings& f) {
  for (const CaseRecord* record : f.valid) {
    const auto twin = twin_of(record->details);
    if (!twin) continue;
    if (twin->smallest_shown <= 0.0)
      return fmt::format("This run could not have shown any difference: {} rounds are too few.", twin->ratio.rounds);
    const std::string name = f.name_of(*record);
    const std::string again =
        fmt::format("{}, measured twice as two cases, took {} as long the second time", name, times_text(twin->ratio));
    return fmt::format("{}This run could have shown differences of {:.1f} % or more: {}.",
                       twin->ratio.is_distinguishable() ? "A case differs from itself here. " : "",
                       100.0 * (twin->smallest_shown - 1.0), again);
  }
  return "";
}

}  // namespace

double Findings::share(std::string_view phase) const {
  return step_ms > 0.0 ? phase_ms(best(), phase).value_or(0.0) / step_ms : 0.0;
}

double Findings::exchange_share() const { return step_ms > 0.0 ? exchange_ms(best()) / step_ms : 0.0; }

std::string Findings::rest_of(const CaseRecord& record) const {
  std::string text;
  for (const std::string& other : differing_fields(cases)) {
    if (other == field) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", other, value_of(record, other));
  }
  return text;
}

std::string Findings::name_of(const CaseRecord& record) const {
  const std::string rest = rest_of(record);
  return value_of(record, field) + (rest.empty() ? "" : fmt::format(" ({})", rest));
}

Findings findings_of(const nlohmann::ordered_json& environment, std::span<const CaseRecord> records) {
  Findings findings{.environment = environment, .cases = ranked(records), .valid = {}, .field = {}, .leaders = {}};
  std::ranges::copy_if(findings.cases, std::back_inserter(findings.valid),
                       [](const CaseRecord* record) { return is_valid(*record); });
  findings.field = leading_field(findings.cases);
  findings.leaders = leaders(findings.valid, findings.field);
  if (!findings.leaders.empty())
    for (const PhaseTime& phase : findings.best().phases) findings.step_ms += phase.median_ms;
  return findings;
}

std::vector<std::string> answer(const Findings& f) {
  if (f.leaders.empty()) return {"No case is valid, and a rate without a right result is none."};
  std::vector<std::string> sentences{opening(f)};
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  };
  if (f.leaders.size() > 1) add(beside_runner_up(f));
  add(slowest(f));
  add(within(f));
  std::ranges::for_each(mode_sentences(f), add);
  std::ranges::for_each(storage_sentences(f), add);
  add(time_shares(f));
  std::ranges::for_each(prediction_sentences(f), add);
  std::ranges::for_each(advice(f), add);
  add(left_out(f));
  add(certificate(f));
  return sentences;
}

}  // namespace shardmark::results
