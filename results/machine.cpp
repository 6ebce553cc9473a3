// SPDX-License-Identifier: Apache-2.0
#include "results/machine.hpp"

#include <charconv>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(space);
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

Json text_or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

/// Returns the number at the beginning of `text`.
Json integer_or_null(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? Json(value) : Json(nullptr);
}

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return std::string(trimmed(line));
}

/// Splits "key<space>: value" as in /proc/cpuinfo and /proc/meminfo; the key is empty without a colon.
std::pair<std::string_view, std::string_view> key_and_value(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == line.npos) return {};
  return {trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1))};
}

struct Processors {
  std::string model;
  std::int64_t logical = 0;
  std::set<std::pair<std::string, std::string>> cores;  ///< (physical id, core id)
};

Processors processors(const fs::path& cpuinfo) {
  Processors found;
  std::string package;
  std::ifstream stream(cpuinfo);
  for (std::string line; std::getline(stream, line);) {
    const auto [key, value] = key_and_value(line);
    if (key == "processor") ++found.logical;
    if (key == "model name") found.model = value;
    if (key == "physical id") package = value;
    if (key == "core id") found.cores.emplace(package, value);
  }
  return found;
}

Json memory_bytes(const fs::path& meminfo) {
  std::ifstream stream(meminfo);
  for (std::string line; std::getline(stream, line);) {
    const auto [key, value] = key_and_value(line);
    if (key != "MemTotal") continue;
    const Json kibibytes = integer_or_null(value);
    return kibibytes.is_null() ? kibibytes : Json(kibibytes.get<std::int64_t>() * 1024);
  }
  return nullptr;
}

/// node0, node1, ... below /sys/devices/system/node.
Json numa_nodes(const fs::path& folder) {
  std::int64_t count = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.starts_with("node") && name.size() > 4 && name.find_first_not_of("0123456789", 4) == name.npos) ++count;
  }
  return count > 0 ? Json(count) : Json(nullptr);
}

/// The chosen word of "always [madvise] never".
Json bracketed(std::string_view words) {
  const std::size_t open = words.find('[');
  const std::size_t close = words.find(']');
  return open < close && close != words.npos ? Json(words.substr(open + 1, close - open - 1)) : Json(nullptr);
}

}  // namespace

Json describe_machine(const fs::path& root) {
  const fs::path cpus = root / "sys/devices/system/cpu";
  const Processors found = processors(root / "proc/cpuinfo");
  const std::string smt = first_line(cpus / "smt/active");
  const auto positive_or_null = [](std::int64_t count) { return count > 0 ? Json(count) : Json(nullptr); };
  return {
      {"cpu", text_or_null(found.model)},
      {"logical_cpus", positive_or_null(found.logical)},
      {"cores", positive_or_null(std::ssize(found.cores))},
      {"memory_bytes", memory_bytes(root / "proc/meminfo")},
      {"kernel", text_or_null(first_line(root / "proc/sys/kernel/osrelease"))},
      {"governor", text_or_null(first_line(cpus / "cpu0/cpufreq/scaling_governor"))},
      {"smt", smt.empty() ? Json(nullptr) : Json(smt == "1")},
      {"numa_nodes", numa_nodes(root / "sys/devices/system/node")},
      {"transparent_huge_pages", bracketed(first_line(root / "sys/kernel/mm/transparent_hugepage/enabled"))},
      {"aslr", integer_or_null(first_line(root / "proc/sys/kernel/randomize_va_space"))},
  };
}

}  // namespace shardmark::results
