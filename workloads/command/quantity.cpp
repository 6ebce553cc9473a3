// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/quantity.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <optional>

#include "reference/error.hpp"
#include "reference/number.hpp"
#include "reference/size.hpp"

namespace shardmark::workloads {
namespace {

struct Unit {
  std::string_view name;
  double size;
};

constexpr std::array prefixes{Unit{"k", 1e3}, Unit{"K", 1e3}, Unit{"M", 1e6}, Unit{"G", 1e9}, Unit{"T", 1e12}};

/// The number above 0 before a unit, in that unit's size; absent where the text has another unit.
std::optional<double> before(std::string_view text, std::string_view unit, double size) {
  if (!text.ends_with(unit)) return std::nullopt;
  text.remove_suffix(unit.size());
  while (text.ends_with(' ')) text.remove_suffix(1);
  const auto number = number_in<double>(text);
  if (!number || !std::isfinite(*number * size) || *number <= 0.0) return std::nullopt;
  return *number * size;
}

/// The same for a unit with one of the prefixes.
std::optional<double> with_prefix(std::string_view text, std::string_view unit, double size) {
  for (const Unit& prefix : prefixes)
    if (const auto number = before(text, fmt::format("{}{}", prefix.name, unit), size * prefix.size)) return number;
  return std::nullopt;
}

}  // namespace

CLI::Option* as_bytes(CLI::Option* option) {
  return option->type_name("BYTES")->transform([option](const std::string& text) {
    const auto bytes = bytes_in(text);
    if (!bytes || *bytes < 1)
      throw InputError(
          fmt::format("{}: '{}' is not a size such as 80GB (10^9) or 80GiB (2^30)", option->get_name(), text));
    return fmt::format("{}", *bytes);
  });
}

double rate_in(std::string_view text) {
  for (const auto& [unit, size] : {Unit{"b/s", 0.125}, Unit{"bit/s", 0.125}, Unit{"bps", 0.125}, Unit{"B/s", 1.0}})
    if (const auto rate = with_prefix(text, unit, size)) return *rate;
  throw InputError(fmt::format("'{}' is not a rate such as 200Gb/s (bits) or 25GB/s (bytes)", text));
}

placement::NodeLinks links_in(std::string_view text) {
  const auto times = text.find('x');
  if (times == text.npos) return {1, rate_in(text)};
  const auto count = number_in<int>(text.substr(0, times));
  if (!count || *count < 1)
    throw InputError(fmt::format("'{}' is not a link such as 200Gb/s, or several such as 8x200Gb/s", text));
  return {*count, rate_in(text.substr(times + 1))};
}

double latency_in(std::string_view text) {
  for (const auto& [unit, size] : {Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"\u00b5s", 1e-6}, Unit{"ms", 1e-3}})
    if (const auto seconds = before(text, unit, size)) return *seconds;
  throw InputError(fmt::format("'{}' is not a latency such as 2us or 800ns", text));
}

double share_of(std::string_view option, std::string_view text) {
  const bool percent = text.ends_with('%');
  const auto number = number_in<double>(percent ? text.substr(0, text.size() - 1) : text);
  const double share = number.value_or(0.0) / (percent ? 100.0 : 1.0);
  if (!(share > 0.0 && share < 1.0))
    throw InputError(fmt::format("{} {}: neither a percentage nor a share, such as 3% or 0.03", option, text));
  return share;
}

}  // namespace shardmark::workloads
