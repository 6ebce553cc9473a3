// SPDX-License-Identifier: Apache-2.0
#include "results/table/tensor_trains.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "results/json_text.hpp"
#include "results/tensor_train_fields.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;
namespace names = tensor_train_fields;

Json tt_of(const CaseRecord& record) {
  const Json tt = record.details.value(names::object, Json());
  return tt.is_object() ? tt : Json::object();
}

std::optional<double> number_in(const Json& object, const std::string& name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

/// "1,024 lookups of 900 rows by 30 + 200 shared products (suffix)". Not with a cache, whose rows share no products.
std::string sharing(const Json& tt) {
  if (tt.contains(names::cache)) return "";
  const auto lookups = number_in(tt, names::lookups), rows = number_in(tt, names::rows);
  if (!lookups || !rows) return "";
  std::vector<std::string> shared;
  const Json prefixes = tt.value(names::prefixes, Json::array());
  for (const Json& count : prefixes)
    if (count.is_number()) shared.push_back(with_commas(count.get<double>()));
  if (!shared.empty()) shared.pop_back();  // the rows
  const std::string direction = plain(text_of(tt.value(names::direction, Json("prefix"))));
  return fmt::format(
      "; a step has {} lookups of {} rows{}", with_commas(*lookups), with_commas(*rows),
      shared.empty() ? "" : fmt::format(" by {} shared products ({})", fmt::join(shared, " + "), direction));
}

/// Not with a cache: the nominal flops are those of lookups that it answers too.
std::string rates(const Json& tt) {
  if (tt.contains(names::cache)) return "";
  const auto nominal = number_in(tt, names::nominal_gflops), executed = number_in(tt, names::executed_gflops);
  if (!nominal || !executed) return "";
  return fmt::format("; {} GFLOP/s executed, {} nominal", figure(*executed), figure(*nominal));
}

std::string cache_hits(const Json& tt) {
  const Json cache = tt.value(names::cache, Json());
  const auto rate = cache.is_object() ? number_in(cache, names::hit_rate) : std::nullopt;
  return rate ? fmt::format("; {:.0f} % of the lookups hit its cache", 100.0 * *rate) : "";
}

/// Beside what FBTT-Embedding published of the workload that is named after it.
std::string beside_fbtt(const Json& tt) {
  const auto own = number_in(tt, names::us_per_lookup), theirs = number_in(tt, names::fbtt_published_us_per_lookup),
             nominal = number_in(tt, names::nominal_gflops), executed = number_in(tt, names::executed_gflops),
             printed = number_in(tt, names::fbtt_printed_gflops);
  if (!own || !theirs) return "";
  if (!nominal || !executed || !printed || tt.contains(names::cache))
    return fmt::format("fbtt: {} us per lookup forward + backward + update, {} published (GPU, without a cache)",
                       figure(*own), figure(*theirs));
  return fmt::format(
      "fbtt: {} us per lookup forward + backward + update, {} published (GPU); GFLOP/s: {} nominal, {} executed, {} "
      "FBTT-printed (published accounting, 10 times too high)",
      figure(*own), figure(*theirs), figure(*nominal), figure(*executed), figure(*printed));
}

/// A case with dense tables and one with tt.
struct Pair {
  const CaseRecord* dense = nullptr;
  const CaseRecord* tt = nullptr;

  explicit operator bool() const { return dense && tt; }
};

/// The fastest of each storage among those that `wanted` accepts.
template <class Wanted>
Pair fastest(const Records& ranked, const Wanted& wanted) {
  Pair pair;
  for (const CaseRecord* record : ranked) {
    if (!wanted(*record)) continue;
    const std::string storage = record->option("storage");
    if (storage == "dense" && !pair.dense) pair.dense = record;
    if (storage == "tt" && !pair.tt) pair.tt = record;
  }
  return pair;
}

/// Returns whether the steps of two cases look up as many rows by the same law, in tables of any size.
bool same_traffic(const CaseRecord& a, const CaseRecord& b) {
  return std::ranges::none_of(std::array{"batch", "hotness", "ids.distribution", "ids.alpha", "ids.drift"},
                              [&](const char* option) { return a.differs(b, option); });
}

/// Returns the fastest case with tt for which there is one with dense tables of the same size and traffic, and that
/// one.
Pair fastest_beside(const Records& ranked) {
  for (const CaseRecord* tt : ranked) {
    if (tt->option("storage") != "tt") continue;
    const Pair pair = fastest(
        ranked, [&](const CaseRecord& r) { return same_traffic(r, *tt) && r.option("scale") == tt->option("scale"); });
    if (pair) return pair;
  }
  return {};
}

/// Returns the rows of all tables with storage tt, which have one dim.
std::optional<double> rows_of(const CaseRecord& record) {
  const Json tt = tt_of(record);
  const auto parameters = number_in(tt, names::parameters), compression = number_in(tt, names::compression),
             dim = number_in(record.options, "dim");
  if (!parameters || !compression || !dim || *dim <= 0.0) return {};
  return *parameters * *compression / *dim;
}

/// Three digits of what is no exact figure: 14,980 becomes 15,000.
std::string about(double count) {
  double unit = 1.0;
  while (count / unit >= 1000.0) unit *= 10.0;
  return with_commas(unit * std::round(count / unit));
}

std::optional<double> table_bytes(const CaseRecord& record) { return number_in(record.details, "table_bytes_max"); }

double megabytes(double bytes) { return bytes * 1e-6; }

std::string name_of(const CaseRecord& record, const Pair& pair) {
  const std::string storage = record.option("storage");
  return pair.dense->plan == pair.tt->plan ? storage : fmt::format("{} ({})", storage, plain(record.plan));
}

/// Returns whether tt is faster, beyond the intervals.
bool is_faster(const Pair& pair) { return time_ratio(*pair.dense, *pair.tt).low > 1.0; }

std::string measured(const Pair& pair) {
  const CaseRecord &dense = *pair.dense, &tt = *pair.tt;
  const bool wins = time_ratio(dense, tt).ratio > 1.0;
  const CaseRecord &fast = wins ? tt : dense, &slow = wins ? dense : tt;
  const TimeRatio r = time_ratio(slow, fast);
  const auto rows = rows_of(tt);
  std::string text = rows ? fmt::format("Measured at {} rows: ", about(*rows)) : "Measured: ";
  if (!r.is_distinguishable())
    text += fmt::format("the times of {} and {} are statistically indistinguishable", name_of(tt, pair),
                        name_of(dense, pair));
  else
    text += fmt::format("{} is {:.2f} times [{:.2f}, {:.2f}] as fast as {}", name_of(fast, pair), r.ratio, r.low,
                        r.high, name_of(slow, pair));
  const auto small = table_bytes(tt), large = table_bytes(dense);
  if (small && large && *small > 0.0)
    text += fmt::format("; a rank holds {} MB of tt in place of {} of dense, {} times less", figure(megabytes(*small)),
                        figure(megabytes(*large)), figure(*large / *small));
  return text + fmt::format("; it sends {} MB a step in place of {}.",
                            figure(megabytes(static_cast<double>(tt.sent_bytes_max))),
                            figure(megabytes(static_cast<double>(dense.sent_bytes_max))));
}

/// "from 110,000 rows on, measured"; of pairs at several scales, by their rows.
std::string from_scales(const std::map<double, Pair>& pairs) {
  auto first = pairs.end();
  while (first != pairs.begin() && is_faster(std::prev(first)->second)) --first;
  if (first == pairs.end()) return fmt::format("at no measured size up to {} rows", about(pairs.rbegin()->first));
  if (first == pairs.begin()) return fmt::format("at every measured size, {} rows and more", about(first->first));
  return fmt::format("from {} rows on (measured: not yet at {})", about(first->first), about(std::prev(first)->first));
}

/// Estimates from one size where tt and dense tables cross (see the header).
std::string from_gradients(const Records& valid) {
  const Pair pair = fastest(valid, [](const CaseRecord& r) {
    return r.plan == "data_parallel" && r.ranks > 1 && r.option("replicated_gradients") == "dense";
  });
  if (!pair) return "";
  const auto rows = rows_of(*pair.tt), update = phase_ms(*pair.dense, "update");
  if (!rows || !update || *update <= 0.0) return "";
  const double later = pair.tt->step_ms.median - pair.dense->step_ms.median;
  const double crossing = *rows * (1.0 + later / *update);
  constexpr const char* rule = "if all of the dense update grows with the rows, and tt stays as it is";
  if (crossing <= 0.0) return fmt::format("with data_parallel at any size (estimated, {})", rule);
  return fmt::format("with data_parallel from {} about {} rows (estimated, {})", later < 0.0 ? "at most" : "at least",
                     about(crossing), rule);
}

std::string winning_size(const Findings& f, const Pair& best) {
  std::string text;
  const auto rows = rows_of(*best.tt), small = table_bytes(*best.tt), large = table_bytes(*best.dense);
  if (rows && small && large && *large > 0.0)
    text = fmt::format("by memory from about {} rows (estimated: as many bytes as tt takes here)",
                       about(*rows * *small / *large));
  std::map<double, Pair> scales;
  for (const CaseRecord* record : f.valid) {
    const Pair pair = fastest(f.valid, [&](const CaseRecord& r) {
      return r.plan == best.tt->plan && same_traffic(r, *best.tt) && r.option("scale") == record->option("scale");
    });
    if (const auto size = pair ? rows_of(*pair.tt) : std::nullopt) scales.emplace(*size, pair);
  }
  std::string by_time = scales.size() > 1 ? fmt::format("{} with {}", from_scales(scales), plain(best.tt->plan))
                                          : from_gradients(f.valid);
  if (by_time.empty()) by_time = fmt::format("{} this size (others: --scale)", is_faster(best) ? "at" : "not at");
  return fmt::format("tt wins {}{}by time {}.", text, text.empty() ? "" : "; ", by_time);
}

}  // namespace

bool has_tensor_trains(const Records& records) {
  return std::ranges::any_of(records, [](const CaseRecord* record) { return !tt_of(*record).empty(); });
}

std::vector<std::string> tensor_train_lines(const Records& ranked) {
  const auto found = std::ranges::find_if(ranked, [](const CaseRecord* record) { return !tt_of(*record).empty(); });
  if (found == ranked.end()) return {};
  const Json tt = tt_of(**found);
  std::vector<std::string> lines;
  if (const auto compression = number_in(tt, names::compression))
    lines.push_back(fmt::format("tt: tables as products of cores, {} times fewer values{}{}{}", figure(*compression),
                                sharing(tt), rates(tt), cache_hits(tt)));
  if (std::string line = beside_fbtt(tt); !line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> storage_sentences(const Findings& findings) {
  const Pair best = fastest_beside(findings.valid);
  if (!best) return {};
  return {measured(best), winning_size(findings, best)};
}

}  // namespace shardmark::results
